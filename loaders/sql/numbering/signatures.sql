-- How many triples of a relation leave (n) and enter (-n) each entity, of one pass: a share of the entities.
INSERT INTO signature
SELECT node, list(relation ORDER BY relation), list(num_triples ORDER BY relation), sum(num_triples)::BIGINT
FROM (
  SELECT head AS node, relation, count(*) AS num_triples
  FROM triple
  WHERE head % getvariable('num_passes') = getvariable('pass')
  GROUP BY ALL
  UNION ALL
  SELECT tail, -relation, count(*)
  FROM triple
  WHERE tail < (SELECT count(*) FROM entity) AND tail % getvariable('num_passes') = getvariable('pass')
  GROUP BY ALL
)
GROUP BY node
