-- Triples with one separator between their columns: TSV, CSV and the like. With `quoted`, a column may stand in double
-- quotes, as RFC 4180 has it. Spaces around a column are no part of it. A tail that `value_pattern` matches is tagged as a value; one that is too long for an id is
-- a literal.
-- params: separator :: VARCHAR, quoted :: BOOLEAN, columns :: INTEGER[], width :: INTEGER, expected :: VARCHAR
-- params: header_line :: BIGINT, literals :: BOOLEAN, value_pattern :: VARCHAR
WITH cut AS (
    SELECT line, text,
        CASE WHEN getvariable('quoted') AND contains(text, '"') THEN quoted_columns(text, getvariable('separator'))
            ELSE list_transform(string_split(text, getvariable('separator')), lambda cell: trim(cell, ' '))
        END AS cells
    FROM lines
),
chosen AS (
    SELECT line, text, len(cells) AS width,
        cells[getvariable('columns')[1]] AS head, cells[getvariable('columns')[2]] AS relation,
        cells[getvariable('columns')[3]] AS tail
    FROM cut
),
read AS (
    SELECT *,
        CASE
            WHEN width IS NULL THEN 'a quote is out of place, or does not end'
            WHEN width <> getvariable('width') THEN 'expected ' || getvariable('expected') || ', found '
                || width || CASE width WHEN 1 THEN ' column' ELSE ' columns' END
            WHEN head = '' THEN 'the head is empty'
            WHEN relation = '' THEN 'the relation is empty'
            WHEN tail = '' THEN 'the tail is empty'
            WHEN getvariable('literals') AND written_literal(head) IS NOT NULL THEN
                'a literal cannot be the head of a triple'
        END AS fault,
        CASE WHEN getvariable('literals') THEN written_literal(tail) END AS literal,
        coalesce(regexp_full_match(tail, getvariable('value_pattern')), false) AS is_like_a_value
    FROM chosen
),
sorted AS (
    SELECT *,
        CASE WHEN line = getvariable('header_line') THEN 'header' WHEN text = '' THEN 'blank'
            WHEN fault IS NOT NULL THEN 'reject' ELSE 'triple'
        END AS category,
        category = 'triple' AND literal IS NULL AND is_like_a_value AS is_value
    FROM read
)
SELECT line, category, head, relation,
    CASE WHEN category = 'reject' THEN text ELSE coalesce(literal.value, tail) END AS tail,
    literal IS NOT NULL OR is_value OR strlen(tail) > 8000 AS is_literal, stored_datatype(literal.datatype) AS datatype,
    nullif(literal.language, '') AS language, CASE WHEN is_value THEN 'value' END AS tag,
    CASE WHEN category = 'reject' THEN fault END AS reason
FROM sorted
