// How many things are of each kind that a relation leads to, or of a kind that is a subclass of it, the largest first.
// mode:    read
// params:  $relation :: STRING, $subclass :: LIST<STRING>, $limit :: INTEGER
// names:   RELATION
// returns: name :: STRING, num :: INTEGER
// needs:   nothing
MATCH (:Entity)-[r:{{RELATION}}]->(k:Entity|Literal)
WHERE coalesce(r.relation, type(r)) = $relation
WITH k, count(*) AS size
ORDER BY size DESC, k.id
LIMIT $limit
CALL (k) {
  MATCH p = (k)-[*0..4]->(up)
  WHERE all(s IN relationships(p) WHERE coalesce(s.relation, type(s)) IN $subclass)
  WITH DISTINCT up LIMIT $limit
  RETURN up
}
WITH up, collect(DISTINCT k) AS kinds
CALL (kinds) {
  UNWIND kinds AS k
  MATCH (x:Entity)-[r:{{RELATION}}]->(k)
  WHERE coalesce(r.relation, type(r)) = $relation
  RETURN count(DISTINCT x) AS num
}
RETURN coalesce(up.name, up.value, up.id) AS name, num
ORDER BY num DESC, name
