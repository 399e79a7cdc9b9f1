-- The literals, by node.
SELECT id, value, datatype, language FROM literal ORDER BY node
