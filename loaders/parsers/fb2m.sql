-- Freebase's subsets as SimpleQuestions has them: head, relation and tails parted by tabs, the tails by spaces.
WITH cut AS (
    SELECT line, text,
        list_transform(string_split(text, chr(9)), lambda cell: regexp_replace(trim(cell), '^(?:https?://)?(?:www\.)?freebase\.com/|^/', '')) AS cells
    FROM lines
),
listed AS (
    SELECT line, text, len(cells) = 3 AS is_triple, replace(cells[1], '/', '.') AS head, replace(cells[2], '/', '.') AS relation,
        CASE WHEN len(cells) = 3 THEN string_split_regex(cells[3], ' +') ELSE [''] END AS tails
    FROM cut
),
told AS (SELECT line, text, is_triple, head, relation, unnest(tails) AS tail FROM listed)
SELECT line, CASE WHEN text = '' THEN 'blank' WHEN is_triple THEN 'triple' ELSE 'reject' END AS category,
    CASE WHEN is_triple THEN head END AS head, CASE WHEN is_triple THEN relation END AS relation,
    CASE WHEN is_triple THEN replace(regexp_replace(tail, '^(?:https?://)?(?:www\.)?freebase\.com/|^/', ''), '/', '.') ELSE text END AS tail,
    false AS is_literal, CAST(NULL AS VARCHAR) AS datatype, CAST(NULL AS VARCHAR) AS language, CAST(NULL AS VARCHAR) AS tag,
    CASE WHEN NOT is_triple AND text <> '' THEN 'expected a head, a relation and tails parted by tabs' END AS reason
FROM told
