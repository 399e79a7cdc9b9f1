-- The literals as neo4j-admin imports them.
SELECT node::BIGINT AS ":ID(node)", id, value, datatype, language,
       java_double(number) AS "number:double", dimension, first_day AS "first_day:long", last_day AS "last_day:long"
FROM literal
LEFT JOIN (FROM typed WHERE is_asked(node)) USING (node)
WHERE is_asked(node)
ORDER BY node
