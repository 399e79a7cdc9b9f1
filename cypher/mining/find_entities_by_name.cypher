// The ids of entities and literals with exactly these names: entities by their first name, literals by their value. It
// finds an entity by its id, if that is its name, and among the $limit best matches of the full-text query for its name;
// a literal by its id prefix.
// mode:    read
// params:  $wanted :: LIST<MAP>, $limit :: INTEGER
// returns: name :: STRING, ids :: LIST<STRING>
// needs:   constraint entity_id, constraint literal_id, full-text index entity_names
UNWIND $wanted AS wanted
CALL (wanted) {
  MATCH (e:Entity {id: wanted.name})
  WHERE e.name = wanted.name
  RETURN e.id AS id
UNION
  CALL db.index.fulltext.queryNodes('entity_names', wanted.query, {limit: $limit}) YIELD node
  WITH node WHERE node.name = wanted.name
  RETURN node.id AS id
UNION
  MATCH (l:Literal)
  WHERE l.id STARTS WITH wanted.term AND l.value = wanted.name
  RETURN l.id AS id
}
WITH wanted, id ORDER BY id
RETURN wanted.name AS name, collect(id) AS ids
