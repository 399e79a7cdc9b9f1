-- The triples by the numbers of their terms, each once.
CREATE OR REPLACE TABLE triple AS
SELECT DISTINCT head.node AS head,
       relation.number AS relation,
       tail.node AS tail,
       fingerprint(head.hash, relation.hash, tail.hash) AS fingerprint
FROM entity_triple
JOIN relation ON relation.name = entity_triple.relation
JOIN entity AS head ON head.id = entity_triple.head
JOIN entity AS tail ON tail.id = entity_triple.tail;

INSERT INTO triple
SELECT DISTINCT head.node, relation.number, literal.node, fingerprint(head.hash, relation.hash, literal.hash)
FROM literal_triple
JOIN relation ON relation.name = literal_triple.relation
JOIN entity AS head ON head.id = literal_triple.head
JOIN literal ON literal.id = literal_id(literal_triple.value, literal_triple.datatype, literal_triple.language);

ALTER TABLE relation ADD COLUMN num_triples BIGINT;
UPDATE relation
SET num_triples = counted.num_triples
FROM (SELECT relation AS number, count(*) AS num_triples FROM triple GROUP BY ALL) AS counted
WHERE counted.number = relation.number;
