-- The triples of some relations, those to literals or those to entities; the ones of a head follow each other.
SELECT head.id AS head, relation.name AS relation, tail.id AS tail
FROM triple
JOIN entity AS head ON head.node = triple.head
JOIN relation ON relation.number = triple.relation
JOIN (
  SELECT node, id FROM entity WHERE NOT getvariable('literals')
  UNION ALL
  SELECT node, id FROM literal WHERE getvariable('literals')
) AS tail ON tail.node = triple.tail
WHERE relation.name IN (SELECT unnest(getvariable('relations')))
ORDER BY triple.relation, triple.head, triple.tail
