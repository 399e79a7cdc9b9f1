// The triples of entities, literals included, in both directions: those of one relation and direction are one row with
// their number and the names of both ends of one of them. At most $max_degree triples of an entity are visited: `cut` if
// it has more. A step is the relation's name, with ^ before it if it is inverse (tail to head).
// mode:    read
// params:  $ids :: LIST<STRING>, $max_degree :: INTEGER, $value_chars :: INTEGER
// returns: id :: STRING, step :: STRING, names :: LIST<STRING>, count :: INTEGER, cut :: BOOLEAN
// needs:   constraint entity_id
UNWIND $ids AS id
MATCH (e:Entity {id: id})
CALL (e) {
  MATCH (e)-[r]-(n)
  RETURN r, n LIMIT $max_degree
}
WITH id, e,
     CASE WHEN startNode(r) = e THEN '' ELSE '^' END +
     CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS step,
     count(*) AS count,
     min(coalesce(n.name, left(n.value, $value_chars), '')) AS name
RETURN id, step, [coalesce(e.name, ''), name] AS names, count, COUNT { (e)--() } > $max_degree AS cut
ORDER BY id, step
