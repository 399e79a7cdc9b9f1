-- The literals with their typed values, by node.
SELECT id, value, datatype, language, number, dimension, first_day, last_day
FROM literal
LEFT JOIN typed USING (node)
ORDER BY node
