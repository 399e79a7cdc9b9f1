-- The entities with their names, the typed values of these, and signatures where they were added, by node.
SELECT id, name, aliases, search_names, name_tags, number, dimension, first_day, last_day,
       signature_relations, signature_counts, degree
FROM entity
LEFT JOIN (FROM naming WHERE is_asked(node)) USING (node)
LEFT JOIN (FROM typed WHERE is_asked(node)) USING (node)
LEFT JOIN (FROM signature WHERE is_asked(node)) USING (node)
WHERE is_asked(node)
ORDER BY node
