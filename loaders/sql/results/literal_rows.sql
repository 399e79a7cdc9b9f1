-- The literals with their typed values, by node.
SELECT id, value, datatype, language, number, dimension, first_day, last_day
FROM literal
LEFT JOIN (FROM typed WHERE is_asked(node)) USING (node)
WHERE is_asked(node)
ORDER BY node
