-- The rejects among the statements from a row on, in the order of their lines.
SELECT line_of(place) AS line, detail[5] AS reason, tail AS text
FROM statement
WHERE rowid >= $first AND detail[1] = 'reject'
ORDER BY place
