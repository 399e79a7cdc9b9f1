-- Number the relations, and the entities and literals that were collected, in the order of their names and ids.
-- A node's number is its row in the graph: entities first, then literals.
CREATE OR REPLACE TABLE relation AS
SELECT row_number() OVER (ORDER BY name)::INTEGER AS number, name, hashed(name) AS hash
FROM (
  SELECT relation AS name FROM entity_triple
  UNION
  SELECT relation FROM literal_triple
);

CREATE OR REPLACE TABLE entity AS
SELECT (row_number() OVER (ORDER BY id) - 1)::UINTEGER AS node, id, hashed(id) AS hash
FROM entity_term;

CREATE OR REPLACE TABLE literal AS
SELECT ((SELECT count(*) FROM entity) + row_number() OVER (ORDER BY id) - 1)::UINTEGER AS node,
       id, value, datatype, language, hashed(id) AS hash
FROM literal_term;
