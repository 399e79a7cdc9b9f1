-- Names, separated by tabs: an id, its name, and aliases if any. Empty names are skipped; each name is a row.
WITH cut AS (
    SELECT line, text, list_transform(string_split(text, chr(9)), lambda cell: trim(cell, ' ')) AS cells
    FROM lines
),
listed AS (
    SELECT line, text, cells[1] AS id, len(cells) AS width,
        CASE WHEN len(cells) > 1 THEN cells[2:] ELSE [''] END AS names
    FROM cut
),
numbered AS (
    SELECT line, text, id, width, unnest(names) AS name, generate_subscripts(names, 1) AS place FROM listed
),
sorted AS (
    SELECT *,
        CASE
            WHEN text = '' THEN 'blank'
            WHEN width = 1 OR id = '' THEN 'reject'
            WHEN trim(name) = '' THEN 'empty name'
            ELSE 'name'
        END AS category
    FROM numbered
    WHERE place = 1 OR (id <> '' AND trim(name) <> '')
)
SELECT line, category, id AS head, CAST(NULL AS VARCHAR) AS relation,
    CASE WHEN category = 'reject' THEN text ELSE name END AS tail, false AS is_literal,
    CAST(NULL AS VARCHAR) AS datatype, CAST(NULL AS VARCHAR) AS language, CASE WHEN place > 1 THEN 'alias' END AS tag,
    CASE
        WHEN category <> 'reject' THEN NULL
        WHEN width = 1 THEN 'expected an id and a name parted by a tab, found 1 column'
        ELSE 'the id is empty'
    END AS reason
FROM sorted
