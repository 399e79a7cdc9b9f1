-- The triples as neo4j-admin imports them, those of a head together.
SELECT triple.head::BIGINT AS ":START_ID(node)",
       triple.tail::BIGINT AS ":END_ID(node)",
       relation_row.type AS ":TYPE"
FROM triple
JOIN relation_row ON relation_row.staged = triple.relation
WHERE NOT relation_row.is_related
ORDER BY triple.head, triple.relation, triple.tail
