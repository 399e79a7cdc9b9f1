-- The entities with their names, by node, as neo4j-admin imports them.
SELECT node::BIGINT AS ":ID(node)", id, name, aliases, search_names, name_tags
FROM entity
LEFT JOIN naming USING (node)
ORDER BY node
