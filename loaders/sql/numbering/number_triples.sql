-- The triples by the numbers of their terms, each once. One join a step: its table alone has to be in memory, or is spilled,
-- while several joins in one statement have to hold all of theirs.
CREATE OR REPLACE TABLE with_head AS
SELECT head.node AS head, relation.number AS relation, tail
FROM entity_triple
JOIN relation ON relation.name = entity_triple.relation
JOIN entity AS head ON head.id = entity_triple.head;

CREATE OR REPLACE TABLE numbered AS
SELECT with_head.head, with_head.relation, tail.node AS tail
FROM with_head
JOIN entity AS tail ON tail.id = with_head.tail;

CREATE OR REPLACE TABLE with_head AS
SELECT head.node AS head, relation.number AS relation, literal_id(value, datatype, language) AS tail
FROM literal_triple
JOIN relation ON relation.name = literal_triple.relation
JOIN entity AS head ON head.id = literal_triple.head;

INSERT INTO numbered
SELECT with_head.head, with_head.relation, literal.node
FROM with_head
JOIN literal ON literal.id = with_head.tail;

DROP TABLE with_head;

CREATE OR REPLACE TABLE numbered_once AS
SELECT DISTINCT head, relation, tail FROM numbered;

DROP TABLE numbered;

CREATE OR REPLACE TABLE with_tail_hash AS
SELECT numbered_once.head, relation, tail, term.hash AS tail_hash
FROM numbered_once
JOIN (SELECT node, hash FROM entity UNION ALL SELECT node, hash FROM literal) AS term ON term.node = tail;

DROP TABLE numbered_once;

CREATE OR REPLACE TABLE triple AS
SELECT with_tail_hash.head, with_tail_hash.relation, tail, fingerprint(entity.hash, relation.hash, tail_hash) AS fingerprint
FROM with_tail_hash
JOIN relation ON relation.number = with_tail_hash.relation
JOIN entity ON entity.node = with_tail_hash.head;

DROP TABLE with_tail_hash;

ALTER TABLE relation ADD COLUMN IF NOT EXISTS num_triples BIGINT;
UPDATE relation
SET num_triples = counted.num_triples
FROM (SELECT relation AS number, count(*) AS num_triples FROM triple GROUP BY ALL) AS counted
WHERE counted.number = relation.number;

CREATE OR REPLACE TABLE signature (
  node UINTEGER, signature_relations INTEGER[], signature_counts BIGINT[], degree BIGINT
);
