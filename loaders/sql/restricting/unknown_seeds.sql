-- Entities a neighbourhood is asked for that are in no triple.
SELECT id
FROM reached
WHERE id NOT IN (SELECT head FROM entity_triple)
  AND id NOT IN (SELECT tail FROM entity_triple)
  AND id NOT IN (SELECT head FROM literal_triple)
ORDER BY id
