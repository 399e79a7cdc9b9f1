// The snippets that mention both concepts of a pair, the shortest first, for all pairs of a batch. The search starts at
// the concept with fewer triples, and visits at most $max_degree of its snippets. See engine/neo4j/graph_requests.py.
// mode:    read
// params:  $pairs :: LIST<LIST<STRING>>, $relation :: STRING, $max_snippets :: INTEGER, $max_degree :: INTEGER
// returns: pair :: INTEGER, snippets :: LIST<STRING>
// needs:   constraint entity_id
UNWIND range(0, size($pairs) - 1) AS pair
MATCH (a:Entity {id: $pairs[pair][0]})
MATCH (b:Entity {id: $pairs[pair][1]})
WITH pair, CASE WHEN a.degree <= b.degree THEN a ELSE b END AS fewer, CASE WHEN a.degree <= b.degree THEN b ELSE a END AS more
CALL (fewer, more) {
  MATCH (fewer)-[r]->(snippet:Literal)
  WHERE CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END = $relation
  WITH snippet, more LIMIT $max_degree
  WHERE EXISTS {
    MATCH (snippet)<-[other]-(more)
    WHERE CASE type(other) WHEN 'RELATED' THEN coalesce(other.relation, 'RELATED') ELSE type(other) END = $relation
  }
  WITH DISTINCT snippet
  ORDER BY size(snippet.value), snippet.value
  RETURN collect(snippet.value)[..$max_snippets] AS snippets
}
RETURN pair, snippets
