-- The entities with their names, by node, as neo4j-admin imports them.
SELECT node::BIGINT AS ":ID(node)", id, name, aliases AS "aliases:string[]", search_names AS "search_names:string[]", name_tags
FROM entity
LEFT JOIN naming USING (node)
ORDER BY node
