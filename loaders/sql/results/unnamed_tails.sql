-- How many entities have no name and are in no triple but as its tail, and the first of them.
WITH unnamed AS (
  SELECT node, id FROM entity WHERE node NOT IN (SELECT node FROM naming)
),
heads AS (
  SELECT DISTINCT head FROM triple WHERE head IN (SELECT node FROM unnamed)
)
SELECT count(*) AS num_unnamed_tails, coalesce(list(id ORDER BY node)[1:3], []) AS unnamed_tails
FROM unnamed
WHERE node NOT IN (SELECT head FROM heads)
