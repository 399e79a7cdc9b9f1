-- The triples of relations that have no type of their own, as neo4j-admin imports them.
SELECT triple.head::BIGINT AS ":START_ID(node)",
       triple.tail::BIGINT AS ":END_ID(node)",
       'RELATED' AS ":TYPE",
       relation_row.name AS relation
FROM triple
JOIN relation_row ON relation_row.staged = triple.relation
WHERE relation_row.is_related
ORDER BY triple.relation, triple.head, triple.tail
