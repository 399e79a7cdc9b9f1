-- How many triples of a relation leave (n) and enter (-n) each entity, by entity and catalogue number.
SELECT node, sign(direction) * numbered.number AS relation, num_triples
FROM (
  SELECT head AS node, relation AS direction, count(*) AS num_triples FROM triple GROUP BY ALL
  UNION ALL
  SELECT tail, -relation, count(*) FROM triple WHERE tail < (SELECT count(*) FROM entity) GROUP BY ALL
)
JOIN relation_row AS numbered ON numbered.staged = abs(direction)
ORDER BY node, relation
