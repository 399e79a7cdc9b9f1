-- Collect each id once, of one pass: a share of the ids by their hashes, so that those of a pass fit into memory.
INSERT INTO entity_term
SELECT DISTINCT id
FROM (
  SELECT head AS id FROM entity_triple
  UNION ALL
  SELECT tail FROM entity_triple
  UNION ALL
  SELECT head FROM literal_triple
)
WHERE hash(id) % getvariable('num_passes') = getvariable('pass');

INSERT INTO literal_term
SELECT id, any_value(value), any_value(datatype), any_value(language)
FROM (SELECT literal_id(value, datatype, language) AS id, value, datatype, language FROM literal_triple)
WHERE hash(id) % getvariable('num_passes') = getvariable('pass')
GROUP BY id;
