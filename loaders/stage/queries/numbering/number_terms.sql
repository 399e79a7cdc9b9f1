-- Number the relations, entities and literals in the order of their names and ids.
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
FROM (
  SELECT head AS id FROM entity_triple
  UNION
  SELECT tail FROM entity_triple
  UNION
  SELECT head FROM literal_triple
);

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
