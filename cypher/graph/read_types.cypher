// The types that some relations lead to, the largest first, and what they are subclasses of; each with all that it is
// itself a subclass of.
// mode:    read
// params:  $relations :: LIST<STRING>, $subclass :: LIST<STRING>, $limit :: INTEGER
// names:   TYPES
// returns: id :: STRING, name :: STRING, ups :: LIST<STRING>
// needs:   nothing
MATCH (:Entity)-[r:{{TYPES}}]->(k:Entity|Literal)
WHERE coalesce(r.relation, type(r)) IN $relations
WITH k, count(*) AS size
ORDER BY size DESC, k.id
LIMIT $limit
CALL (k) {
  WITH k
  WHERE size($subclass) > 0
  MATCH p = (k)-[*1..4]->(up)
  WHERE all(s IN relationships(p) WHERE coalesce(s.relation, type(s)) IN $subclass)
  WITH DISTINCT up LIMIT $limit
  RETURN collect(up) AS above
}
WITH k, [k] + above AS ups, size
UNWIND ups AS up
WITH up, max(CASE up WHEN k THEN size ELSE 0 END) AS size, collect(CASE up WHEN k THEN ups END) AS own
ORDER BY size DESC, up.id
RETURN up.id AS id, coalesce(up.name, up.value) AS name, [each IN coalesce(head(own), [up]) | each.id] AS ups
