-- How many triples of a relation leave (n) and enter (-n) each entity, by entity and catalogue number.
SELECT node, relation, num_triples
FROM (
  SELECT head AS node, numbered.number AS relation, count(*) AS num_triples
  FROM triple
  JOIN relation_row AS numbered ON numbered.staged = triple.relation
  GROUP BY ALL
  UNION ALL
  SELECT tail, -numbered.number, count(*)
  FROM triple
  JOIN relation_row AS numbered ON numbered.staged = triple.relation
  WHERE tail < (SELECT count(*) FROM entity)
  GROUP BY ALL
)
ORDER BY node, relation
