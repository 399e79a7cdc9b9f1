-- The triples as neo4j-admin imports them, those of a relation together: so it is several times as fast as by head.
SELECT triple.head::BIGINT AS ":START_ID(node)",
       triple.tail::BIGINT AS ":END_ID(node)",
       relation_row.type AS ":TYPE"
FROM triple
JOIN relation_row ON relation_row.staged = triple.relation
WHERE NOT relation_row.is_related
ORDER BY triple.relation, triple.head, triple.tail
