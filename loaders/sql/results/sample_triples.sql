-- A few triples, by relation: as many relations as can be shown.
SELECT head.id AS head, relation.name AS relation, tail.id AS tail
FROM (SELECT any_value(head ORDER BY head) AS head, relation, arg_min(tail, head) AS tail, count(*) AS size FROM triple GROUP BY relation) AS shown
JOIN entity AS head ON head.node = shown.head
JOIN relation ON relation.number = shown.relation
JOIN (SELECT node, id FROM entity UNION ALL SELECT node, id FROM literal) AS tail ON tail.node = shown.tail
ORDER BY size DESC, relation
