-- Number the relations, entities and literals in the order of their names and ids, and the triples by them, each once.
-- A node's number is its row in the graph: entities first, then literals.
CREATE OR REPLACE TABLE relation AS
SELECT row_number() OVER (ORDER BY name)::INTEGER AS number, name, hashed(name) AS hash
FROM (SELECT relation AS name FROM entity_triple UNION SELECT relation FROM literal_triple);

CREATE OR REPLACE TABLE entity AS
SELECT (row_number() OVER (ORDER BY id) - 1)::UINTEGER AS node, id, hashed(id) AS hash
FROM (SELECT head AS id FROM entity_triple UNION SELECT tail FROM entity_triple UNION SELECT head FROM literal_triple);

CREATE OR REPLACE TABLE literal AS
SELECT ((SELECT count(*) FROM entity) + row_number() OVER (ORDER BY id) - 1)::UINTEGER AS node,
       id, value, datatype, language, hashed(id) AS hash
FROM (
  SELECT literal_id(value, datatype, language) AS id,
         any_value(value) AS value,
         any_value(datatype) AS datatype,
         any_value(language) AS language
  FROM literal_triple
  GROUP BY 1
);

CREATE OR REPLACE TABLE triple AS
SELECT DISTINCT head.node AS head, relation.number AS relation, tail.node AS tail,
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
