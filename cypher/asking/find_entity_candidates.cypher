// Entities whose names or aliases match full-text queries, best first, for a whole batch of questions: each has several
// queries, with a limit each.
// mode:    read
// params:  $queries :: LIST<MAP>
// returns: question :: INTEGER, id :: STRING, name :: STRING, search_names :: LIST<STRING>, degree :: INTEGER
// needs:   full-text index entity_names
UNWIND range(0, size($queries) - 1) AS number
WITH number, $queries[number] AS query
CALL (query) {
  CALL db.index.fulltext.queryNodes('entity_names', query.text, {limit: query.limit}) YIELD node, score
  RETURN node, score
}
RETURN query.question AS question,
       node.id AS id,
       node.name AS name,
       node.search_names AS search_names,
       coalesce(node.degree, 0) AS degree
ORDER BY number, score DESC, id
