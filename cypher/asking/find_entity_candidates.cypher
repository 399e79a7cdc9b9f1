// Entities whose names or aliases match a full-text query, best first, for a whole batch of questions.
// mode:    read
// params:  $queries :: LIST<STRING>, $limit :: INTEGER
// returns: query :: INTEGER, id :: STRING, name :: STRING, search_names :: LIST<STRING>, degree :: INTEGER
// needs:   full-text index entity_names
UNWIND range(0, size($queries) - 1) AS query
CALL (query) {
  CALL db.index.fulltext.queryNodes('entity_names', $queries[query], {limit: $limit}) YIELD node, score
  RETURN node, score
}
RETURN query,
       node.id AS id,
       node.name AS name,
       node.search_names AS search_names,
       coalesce(node.degree, 0) AS degree
ORDER BY query, score DESC, id
