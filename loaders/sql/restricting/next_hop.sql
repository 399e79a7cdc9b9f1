-- One hop further: the other ends of the triples at what was reached last.
CREATE OR REPLACE TEMP TABLE frontier AS SELECT id FROM reached WHERE hop = getvariable('hop') - 1;
INSERT INTO reached
SELECT id, getvariable('hop')
FROM (
  SELECT tail AS id FROM entity_triple WHERE head IN (SELECT id FROM frontier)
  UNION
  SELECT head FROM entity_triple WHERE tail IN (SELECT id FROM frontier)
)
WHERE id NOT IN (SELECT id FROM reached);
