-- The raw Freebase RDF dump: subject, predicate, object and a full stop, separated by tabs. Identifiers lose Freebase's
-- prefix, in full or shortened to a slash; other IRIs stay whole. Lines with three full identifiers and no escape are
-- cut between them; all others are split at their tabs.
-- params: languages :: VARCHAR[], all_languages :: BOOLEAN, noise_relations :: VARCHAR, noise_statements :: VARCHAR[]
WITH cut AS (
    SELECT line, text, contains(text, '\') AS has_escape,
        string_split(text, '>' || chr(9) || freebase_prefix()) AS pieces
    FROM lines
),
opened AS (
    SELECT line, text, has_escape, pieces[1] AS first, pieces[3] AS third, len(pieces) AS num_pieces,
        replace(pieces[1], freebase_prefix(), '') AS plain_head, pieces[2] AS plain_relation,
        replace(pieces[3], '>' || chr(9) || '.', '') AS plain_tail
    FROM cut
),
checked AS (
    SELECT line, text, has_escape, plain_head, plain_relation, plain_tail,
        num_pieces = 3 AND NOT has_escape
            AND is_plain_id(plain_head) AND is_plain_id(plain_relation) AND is_plain_id(plain_tail)
            AND starts_with(first, freebase_prefix()) AND strlen(first) = strlen(plain_head) + strlen(freebase_prefix())
            AND ends_with(third, '>' || chr(9) || '.') AND strlen(third) = strlen(plain_tail) + 3 AS is_plain
    FROM opened
),
framed AS (
    SELECT *, CASE WHEN NOT is_plain THEN string_split(text, chr(9)) END AS terms,
        NOT is_plain AND len(terms) = 4 AND starts_with(terms[3], '"') AS is_literal
    FROM checked
),
bared AS (
    SELECT *, CASE WHEN is_plain THEN plain_head ELSE bare_freebase_id(terms[1]) END AS bare_head,
        CASE WHEN is_plain THEN plain_relation ELSE bare_freebase_id(terms[2]) END AS bare_relation,
        CASE WHEN is_plain THEN plain_tail WHEN NOT is_literal THEN bare_freebase_id(terms[3]) END AS bare_id,
        CASE WHEN is_literal THEN literal_parts(terms[3]) END AS literal
    FROM framed
),
read AS (
    SELECT line, text, is_literal, literal,
        CASE WHEN has_escape THEN unescaped_code_points(bare_head) ELSE bare_head END AS head,
        CASE WHEN has_escape THEN unescaped_code_points(bare_relation) ELSE bare_relation END AS relation,
        CASE
            WHEN is_literal THEN unescaped(literal.value)
            WHEN has_escape THEN unescaped_code_points(bare_id)
            ELSE bare_id
        END AS tail,
        is_plain OR len(terms) = 4 AND terms[4] = '.' AND is_bracketed(terms[1], bare_head)
            AND is_bracketed(terms[2], bare_relation)
            AND CASE WHEN is_literal THEN literal IS NOT NULL ELSE is_bracketed(terms[3], bare_id) END AS is_statement
    FROM bared
),
told AS (
    SELECT *, CASE WHEN is_literal THEN nullif(literal.language, '') END AS language,
        CASE WHEN is_literal THEN stored_datatype(unescaped_code_points(literal.datatype)) END AS datatype,
        relation IN ('type.object.name', 'common.topic.alias') AS is_name
    FROM read
),
sorted AS (
    SELECT *,
        CASE
            WHEN NOT is_statement THEN no_statement(text)
            WHEN is_name THEN
                CASE
                    WHEN NOT is_literal THEN 'reject'
                    WHEN language IS NOT NULL AND NOT getvariable('all_languages')
                        AND NOT list_contains(getvariable('languages'), lower(language)) THEN 'other language'
                    WHEN trim(tail) = '' THEN 'empty name'
                    ELSE 'name'
                END
            WHEN regexp_full_match(relation, getvariable('noise_relations'))
                OR list_contains(getvariable('noise_statements'), relation || ' ' || tail) THEN 'noise'
            ELSE 'triple'
        END AS category
    FROM told
)
SELECT line, category, head, CASE WHEN NOT is_name THEN relation END AS relation,
    CASE WHEN category = 'reject' THEN text ELSE tail END AS tail, is_literal AND NOT is_name AS is_literal, datatype,
    language, CASE WHEN is_name THEN CASE relation WHEN 'type.object.name' THEN 'name' ELSE 'alias' END END AS tag,
    CASE WHEN category = 'reject' THEN freebase_fault(string_split(text, chr(9))) END AS reason
FROM sorted
