-- The rejects among the statements, in the order of the source's parts and their lines.
SELECT place >> 40 AS part, line_of(place) AS line, detail[5] AS reason, tail AS text
FROM statement
WHERE detail[1] = 'reject'
ORDER BY place
LIMIT $limit
