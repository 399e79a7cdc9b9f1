// Facts to make questions of: of the entities with a short name, the $heads with most triples among the first $among, for
// each relation that leaves them the name of one end and how many ends there are among $steps triples.
// mode:    read
// params:  $among :: INTEGER, $heads :: INTEGER, $steps :: INTEGER
// returns: head :: STRING, relation :: STRING, tail :: STRING, num :: INTEGER, is_value :: BOOLEAN
// needs:   nothing
MATCH (h:Entity)
WHERE h.id IS NOT NULL AND 3 <= size(h.name) AND size(h.name) <= 40
WITH h LIMIT $among
WITH h ORDER BY coalesce(h.degree, 0) DESC, h.id LIMIT $heads
CALL (h) {
  MATCH (h)-[r]->(e:Entity|Literal)
  WITH r, e LIMIT $steps
  WHERE coalesce(e.name, e.value) IS NOT NULL
  RETURN coalesce(r.relation, type(r)) AS relation,
         min(left(coalesce(e.name, e.value), 60)) AS tail,
         count(*) AS num,
         max(e:Literal) AS is_value
}
RETURN h.name AS head, relation, tail, num, is_value
