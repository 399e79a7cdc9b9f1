-- The entities with their names, by node.
SELECT id, name, aliases, search_names, name_tags
FROM entity
LEFT JOIN naming USING (node)
ORDER BY node
