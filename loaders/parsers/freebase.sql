-- The raw Freebase RDF dump: subject, predicate, object and a full stop, parted by tabs. Identifiers lose the prefix
-- of Freebase, in full or shortened to a slash; other IRIs are kept whole.
-- params: languages :: VARCHAR[], all_languages :: BOOLEAN, noise_relations :: VARCHAR, noise_in_doubt :: VARCHAR
-- params: noise_rules :: STRUCT(relation VARCHAR, tail VARCHAR, noise BOOLEAN)[]
WITH columns AS (
    SELECT line, text, string_split(text, chr(9)) AS terms, contains(text, '\') AS has_escape FROM lines
),
framed AS (
    SELECT line, text, has_escape, len(terms) AS width, terms[1] AS subject, terms[2] AS predicate, terms[3] AS object,
        terms[4] AS stop, len(terms) = 4 AND starts_with(terms[3], '"') AS is_literal
    FROM columns
),
bared AS (
    SELECT *, bare_freebase_id(subject) AS bare_head, bare_freebase_id(predicate) AS bare_relation,
        CASE WHEN is_literal THEN NULL ELSE bare_freebase_id(object) END AS bare_id,
        CASE WHEN is_literal THEN literal_parts(object) END AS literal
    FROM framed
),
read AS (
    SELECT *, CASE WHEN has_escape THEN unescaped_code_points(bare_head) ELSE bare_head END AS head,
        CASE WHEN has_escape THEN unescaped_code_points(bare_relation) ELSE bare_relation END AS relation,
        CASE
            WHEN is_literal THEN unescaped(literal.value)
            WHEN has_escape THEN unescaped_code_points(bare_id)
            ELSE bare_id
        END AS tail,
        width = 4 AND stop = '.' AND is_bracketed(subject, bare_head) AND is_bracketed(predicate, bare_relation)
            AND CASE WHEN is_literal THEN literal IS NOT NULL ELSE is_bracketed(object, bare_id) END AS is_statement
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
            WHEN coalesce(regexp_full_match(relation, getvariable('noise_relations')), false)
                AND (
                    NOT coalesce(regexp_full_match(relation, getvariable('noise_in_doubt')), false)
                    OR coalesce(list_filter(
                        getvariable('noise_rules'),
                        lambda rule: relation LIKE rule.relation ESCAPE '\' AND tail LIKE rule.tail ESCAPE '\'
                    )[-1].noise, false)
                ) THEN 'noise'
            ELSE 'triple'
        END AS category
    FROM told
)
SELECT line, category, head, CASE WHEN NOT is_name THEN relation END AS relation,
    CASE WHEN category = 'reject' THEN text ELSE tail END AS tail, is_literal AND NOT is_name AS is_literal, datatype,
    language, CASE WHEN is_name THEN CASE relation WHEN 'type.object.name' THEN 'name' ELSE 'alias' END END AS tag,
    CASE WHEN category = 'reject' THEN freebase_fault(string_split(text, chr(9))) END AS reason
FROM sorted
