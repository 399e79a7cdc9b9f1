// Some literals, with the relations that enter them.
// mode:    read
// params:  $limit :: INTEGER, $per_literal :: INTEGER
// returns: value :: STRING, relation :: STRING
// needs:   nothing
MATCH (l:Literal)
WITH l
LIMIT $limit
CALL (l) {
  MATCH (l)<-[t]-(:Entity)
  RETURN coalesce(t.relation, type(t)) AS relation
  LIMIT $per_literal
}
RETURN left(l.value, 200) AS value, relation
