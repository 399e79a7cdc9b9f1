-- Entities of more distinct triples than the limit.
CREATE OR REPLACE TABLE hub AS
SELECT id
FROM (
  SELECT DISTINCT unnest([head, tail]) AS id, unnest([1, -1]) AS direction, head, relation, tail FROM entity_triple
  UNION
  SELECT head, 1, head, relation, literal_id(value, datatype, language) FROM literal_triple
)
GROUP BY id
HAVING count(*) > $max_degree;
