// The types that a relation leads to, with all that each is a subclass of, the largest first.
// mode:    read
// params:  $relation :: STRING, $subclass :: LIST<STRING>, $limit :: INTEGER
// names:   RELATION
// returns: id :: STRING, name :: STRING, ups :: LIST<STRING>
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
  RETURN collect(up.id) AS ups
}
RETURN k.id AS id, coalesce(k.name, k.value) AS name, ups
