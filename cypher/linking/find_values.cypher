// Literals with given values, for a whole batch, by id prefix, so that the index answers; the first $limit of each.
// mode:    read
// params:  $terms :: LIST<STRING>, $limit :: INTEGER, $value_chars :: INTEGER
// returns: place :: INTEGER, id :: STRING, value :: STRING
// needs:   constraint literal_id
UNWIND range(0, size($terms) - 1) AS place
WITH place, $terms[place] AS term
CALL (term) {
  MATCH (l:Literal)
  WHERE l.id STARTS WITH term
  RETURN l ORDER BY l.id LIMIT $limit
}
RETURN place, l.id AS id, left(l.value, $value_chars) AS value
