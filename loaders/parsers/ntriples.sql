-- N-Triples. Lines with three IRIs, one space or tab after each, are cut at their brackets; all others are matched
-- against the grammar. IRIs lose the bases that they start with.
-- params: bases :: VARCHAR, names :: VARCHAR[], aliases :: VARCHAR[], languages :: VARCHAR[], all_languages :: BOOLEAN
WITH cut AS (
    SELECT line, text, string_split(text, '>') AS pieces, contains(text, '\') AS has_escape FROM lines
),
opened AS (
    SELECT line, text, has_escape, len(pieces) AS num_pieces, pieces[1] AS first, pieces[2] AS second,
        pieces[3] AS third, pieces[4] AS fourth,
        substr(pieces[1], 2) AS bare_first, substr(pieces[2], 3) AS bare_second,
        substr(pieces[3], 3) AS bare_third
    FROM cut
),
checked AS (
    SELECT *,
        num_pieces = 4 AND fourth IN (' .', chr(9) || '.', '.') AND starts_with(first, '<')
            AND (starts_with(second, ' <') OR starts_with(second, chr(9) || '<'))
            AND (starts_with(third, ' <') OR starts_with(third, chr(9) || '<'))
            AND is_bare(bare_first) AND is_bare(bare_second) AND is_bare(bare_third) AS is_plain
    FROM opened
),
matched AS (
    SELECT line, text, has_escape, is_plain, bare_first, bare_second, bare_third,
        CASE WHEN NOT is_plain
            THEN regexp_extract(text, statement_pattern(), ['subject', 'predicate', 'object'])
        END AS terms
    FROM checked
),
read AS (
    SELECT line, text, has_escape,
        CASE WHEN is_plain THEN bare_first ELSE bare_term(terms.subject) END AS bare_subject,
        CASE WHEN is_plain THEN bare_second ELSE bare_term(terms.predicate) END AS bare_predicate,
        CASE WHEN is_plain THEN bare_third ELSE bare_term(terms.object) END AS bare_object,
        NOT is_plain AND starts_with(terms.object, '"') AS is_literal,
        CASE WHEN NOT is_plain AND starts_with(terms.object, '"') THEN literal_parts(terms.object) END AS literal
    FROM matched
),
resolved AS (
    SELECT line, text, is_literal, literal, bare_subject <> '' AS is_statement,
        CASE WHEN has_escape THEN unescaped_code_points(bare_subject) ELSE bare_subject END AS subject,
        CASE WHEN has_escape THEN unescaped_code_points(bare_predicate) ELSE bare_predicate END AS predicate,
        CASE
            WHEN is_literal THEN unescaped(literal.value)
            WHEN has_escape THEN unescaped_code_points(bare_object)
            ELSE bare_object
        END AS object
    FROM read
),
told AS (
    SELECT line, text, is_literal, is_statement, without_base(subject, getvariable('bases')) AS head,
        without_base(predicate, getvariable('bases')) AS relation,
        CASE WHEN is_literal THEN object ELSE without_base(object, getvariable('bases')) END AS tail,
        CASE WHEN is_literal THEN nullif(literal.language, '') END AS language,
        CASE WHEN is_literal THEN stored_datatype(unescaped_code_points(literal.datatype)) END AS datatype,
        CASE WHEN is_literal THEN
            CASE
                WHEN list_contains(getvariable('names'), predicate) THEN 'name'
                WHEN list_contains(getvariable('aliases'), predicate) THEN 'alias'
            END
        END AS tag
    FROM resolved
),
sorted AS (
    SELECT *,
        CASE
            WHEN NOT is_statement THEN no_statement(text)
            WHEN tag IS NULL THEN 'triple'
            WHEN language IS NOT NULL AND NOT getvariable('all_languages')
                AND NOT list_contains(getvariable('languages'), lower(language)) THEN 'other language'
            WHEN trim(tail) = '' THEN 'empty name'
            ELSE 'name'
        END AS category
    FROM told
)
SELECT line, category, head, CASE WHEN tag IS NULL THEN relation END AS relation,
    CASE WHEN category = 'reject' THEN text ELSE tail END AS tail, is_literal AND tag IS NULL AS is_literal, datatype,
    language, tag, CASE WHEN category = 'reject' THEN ntriples_fault(text) END AS reason
FROM sorted
