// At most some $limit entities, spread over the first $among, and for each relation and direction there how many of the
// first $most relationships it has, and one thing at the other end.
// mode:    read
// params:  $limit :: INTEGER, $among :: INTEGER, $most :: INTEGER
// returns: id :: STRING, unnamed :: BOOLEAN,
//          steps :: LIST<LIST> (relation, whether it leaves, how many; of the other end id, whether it is an entity
//          without name, dimension of a value)
// needs:   nothing
CALL () {
  MATCH (e:Entity)
  RETURN 1 + CASE WHEN count(e) < $among THEN count(e) ELSE $among END / $limit AS apart
}
MATCH (e:Entity)
WITH e, apart
LIMIT $among
WHERE toInteger(split(elementId(e), ':')[2]) % apart = 0
CALL (e) {
  MATCH (e)-[r]-(o:Entity|Literal)
  WITH e, r, o LIMIT $most
  WITH coalesce(r.relation, type(r)) AS relation, startNode(r) = e AS leaves, count(*) AS num, head(collect(o)) AS o
  RETURN collect([relation, leaves, num, o.id, o:Entity AND o.name IS NULL, coalesce(o.dimension, '')]) AS steps
}
RETURN e.id AS id, e.name IS NULL AS unnamed, steps
