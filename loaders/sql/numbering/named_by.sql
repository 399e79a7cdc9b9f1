-- How many entities have their name by which relation: "id" by their ids, an empty one by a file of names.
SELECT CASE WHEN from_id THEN 'id' ELSE coalesce(relation, '') END AS named_by, count(*) AS size
FROM name_statement
WHERE position = 1
GROUP BY ALL
ORDER BY size DESC, named_by
