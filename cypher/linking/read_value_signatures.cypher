// Literals by id with the catalogue numbers of the relations that lead to them, negative as for all inverse steps (tail
// to head), and the number of triples; the first $max_triples of each literal are visited.
// mode:    read
// params:  $ids :: LIST<STRING>, $max_triples :: INTEGER, $value_chars :: INTEGER
// returns: id :: STRING, value :: STRING, degree :: INTEGER, signature :: LIST<INTEGER>
// needs:   constraint literal_id, constraint relation_name
UNWIND $ids AS id
MATCH (l:Literal {id: id})
CALL (l) {
  MATCH (l)<-[r]-(:Entity)
  WITH r LIMIT $max_triples
  WITH CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS name, count(*) AS size
  MATCH (relation:Relation {name: name})
  WITH relation.number AS number, size ORDER BY number
  RETURN collect(-number) AS signature, sum(size) AS degree
}
RETURN l.id AS id, left(l.value, $value_chars) AS value, degree, signature
