// The first literals by id, each with relations that enter it: the first by name among $among triples.
// mode:    read
// params:  $limit :: INTEGER, $per_literal :: INTEGER, $among :: INTEGER
// returns: value :: STRING, relation :: STRING
// needs:   constraint literal_id
MATCH (l:Literal)
WHERE l.id IS NOT NULL
WITH l
ORDER BY l.id
LIMIT $limit
CALL (l) {
  MATCH (l)<-[t]-(:Entity)
  WITH t
  LIMIT $among
  WITH DISTINCT coalesce(t.relation, type(t)) AS relation
  ORDER BY relation
  LIMIT $per_literal
  RETURN relation
}
RETURN left(l.value, 200) AS value, relation
