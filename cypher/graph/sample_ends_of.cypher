// Some triples of a relation: the relations at both ends, and the ids of their types.
// mode:    read
// params:  $relation :: STRING, $types :: LIST<STRING>, $limit :: INTEGER
// names:   RELATION
// returns: head :: LIST<INTEGER>, head_types :: LIST<STRING>, head_unnamed :: BOOLEAN, tail :: LIST<INTEGER>,
//          tail_types :: LIST<STRING>, tail_unnamed :: BOOLEAN
// needs:   nothing
MATCH (h:Entity)-[r:{{RELATION}}]->(t:Entity|Literal)
WHERE coalesce(r.relation, type(r)) = $relation
WITH h, t
LIMIT $limit
CALL (h) {
  MATCH (h)-[s]->(k:Entity|Literal)
  WHERE type(s) IN $types
  WITH k LIMIT 10
  RETURN collect(k.id) AS head_types
}
CALL (t) {
  MATCH (t)-[s]->(k:Entity|Literal)
  WHERE type(s) IN $types
  WITH k LIMIT 10
  RETURN collect(k.id) AS tail_types
}
RETURN coalesce(h.signature_relations, []) AS head, head_types, h.name IS NULL AS head_unnamed,
       coalesce(t.signature_relations, []) AS tail, tail_types, t:Entity AND t.name IS NULL AS tail_unnamed
