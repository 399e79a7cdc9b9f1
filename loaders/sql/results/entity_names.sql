-- The entities with their names and the typed values of these, by node, as neo4j-admin imports them.
SELECT node::BIGINT AS ":ID(node)", id, name, aliases AS "aliases:string[]", search_names AS "search_names:string[]", name_tags,
       java_double(number) AS "number:double", dimension, first_day AS "first_day:long", last_day AS "last_day:long"
FROM entity
LEFT JOIN naming USING (node)
LEFT JOIN typed USING (node)
ORDER BY node
