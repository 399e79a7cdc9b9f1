-- The entities with their names, the typed values of these, and signatures, by node, as neo4j-admin imports them.
SELECT node::BIGINT AS ":ID(node)", id, name,
       array_to_string(aliases, getvariable('delimiter')) AS "aliases:string[]",
       array_to_string(search_names, getvariable('delimiter')) AS "search_names:string[]",
       name_tags,
       java_double(number) AS "number:double", dimension, first_day AS "first_day:long", last_day AS "last_day:long",
       array_to_string(signature_relations, getvariable('delimiter')) AS "signature_relations:int[]",
       array_to_string(signature_counts, getvariable('delimiter')) AS "signature_counts:int[]",
       degree AS "degree:int"
FROM entity
LEFT JOIN (FROM naming WHERE is_asked(node)) USING (node)
LEFT JOIN (FROM typed WHERE is_asked(node)) USING (node)
LEFT JOIN (FROM signature WHERE is_asked(node)) USING (node)
WHERE is_asked(node)
ORDER BY node
