-- Leave out the triples that begin or end at a hub.
CREATE TABLE kept AS
SELECT * REPLACE (
  CASE WHEN (detail IS NULL OR detail[1] = 'triple')
            AND (head IN (SELECT id FROM hub) OR (detail IS NULL AND tail IN (SELECT id FROM hub)))
       THEN ['at a hub'] ELSE detail END AS detail)
FROM statement;
DROP TABLE statement;
ALTER TABLE kept RENAME TO statement;
