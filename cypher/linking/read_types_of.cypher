// The types of entities, at most $limit of each: what the relationships of $types lead to.
// mode:    read
// params:  $ids :: LIST<STRING>, $types :: LIST<STRING>, $limit :: INTEGER
// returns: id :: STRING, types :: LIST<STRING>
// needs:   constraint entity_id
UNWIND $ids AS id
MATCH (e:Entity {id: id})
CALL (e) {
  MATCH (e)-[r]->(k:Entity|Literal)
  WHERE coalesce(r.relation, type(r)) IN $types
  WITH k LIMIT $limit
  RETURN collect(k.id) AS types
}
RETURN id, types
