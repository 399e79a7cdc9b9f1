-- Keep the triples that begin or end at an entity that was walked on from; those at the last hop lead out of the circle.
CREATE TABLE kept AS
SELECT * REPLACE (
  CASE WHEN (detail IS NULL OR detail[1] = 'triple')
            AND head NOT IN (SELECT id FROM reached)
            AND (detail IS NOT NULL OR tail NOT IN (SELECT id FROM reached))
       THEN ['not around'] ELSE detail END AS detail)
FROM statement;
DROP TABLE statement;
ALTER TABLE kept RENAME TO statement;
