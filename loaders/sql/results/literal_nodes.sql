-- The literals as neo4j-admin imports them.
SELECT node::BIGINT AS ":ID(node)", id, value, datatype, language,
       java_double(number) AS "number:double", dimension, first_day AS "first_day:long", last_day AS "last_day:long"
FROM literal
LEFT JOIN typed USING (node)
ORDER BY node
