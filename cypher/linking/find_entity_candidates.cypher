// Entities whose names or aliases match full-text queries, best first, for a whole batch of questions. Each question has
// several queries. Of the query.read entities read per query it returns the query.limit best, and of all read the
// $popular with the most triples: a long name that everybody shortens scores low, as all long names do.
// mode:    read
// params:  $queries :: LIST<MAP>, $popular :: INTEGER
// returns: question :: INTEGER, id :: STRING, name :: STRING, search_names :: LIST<STRING>, degree :: INTEGER
// needs:   full-text index entity_names
UNWIND range(0, size($queries) - 1) AS number
WITH number, $queries[number] AS query
CALL (query) {
  CALL db.index.fulltext.queryNodes('entity_names', query.text, {limit: query.read}) YIELD node, score
  WITH node, score ORDER BY score DESC, node.id
  RETURN collect(node) AS found
}
CALL (query, found) {
  UNWIND range(0, size(found) - 1) AS place
  WITH query, place, found[place] AS node
  WHERE place < query.limit
  RETURN place, node
UNION
  UNWIND range(0, size(found) - 1) AS place
  WITH place, found[place] AS node
  ORDER BY coalesce(node.degree, 0) DESC, place
  LIMIT $popular
  RETURN place, node
}
RETURN query.question AS question,
       node.id AS id,
       node.name AS name,
       node.search_names AS search_names,
       coalesce(node.degree, 0) AS degree
ORDER BY number, place
