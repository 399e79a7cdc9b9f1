-- The entities with their names and the typed values of these, by node.
SELECT id, name, aliases, search_names, name_tags, number, dimension, first_day, last_day
FROM entity
LEFT JOIN naming USING (node)
LEFT JOIN typed USING (node)
ORDER BY node
