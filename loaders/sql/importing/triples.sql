-- The triples as neo4j-admin imports them, those of a relation together: so it is several times as fast as by head.
-- `related` has the relations without a type of their own.
SELECT head::BIGINT AS ":START_ID(node)", tail::BIGINT AS ":END_ID(node)",
       CASE WHEN is_related THEN 'RELATED' ELSE name END AS ":TYPE",
       CASE WHEN is_related THEN name END AS relation
FROM (SELECT head, tail, relation FROM triple ORDER BY relation, head, tail) AS sorted
JOIN (
  SELECT number, name, name IN (SELECT unnest(getvariable('related')::VARCHAR[])) AS is_related FROM relation
) AS typed ON typed.number = sorted.relation
