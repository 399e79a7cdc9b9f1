// All relation paths of one or two steps from a topic to its answers, for a whole batch; the shortest are among them. It
// expands the end with fewer triples, and looks up the triples of every reached entity with the other end, for which the
// database visits those of the smaller of the two. It looks up nothing between two entities of more than $max_degree
// triples each. `cut`: an end has so many triples that something may be missing, or there are more than $max_paths. A
// path is its steps, with ^ before an inverse relation (tail to head).
// mode:    read
// params:  $pairs :: LIST<MAP>, $max_degree :: INTEGER, $max_paths :: INTEGER
// returns: pair :: INTEGER, paths :: LIST<LIST<STRING>>, cut :: BOOLEAN
// needs:   constraint entity_id, constraint literal_id
UNWIND $pairs AS pair
MATCH (s:Entity {id: pair.topic})
CALL (pair, s) {
  UNWIND pair.answers AS answer
  CALL (answer) {
    MATCH (a:Entity {id: answer})
    RETURN a
  UNION ALL
    MATCH (a:Literal {id: answer})
    RETURN a
  }
  WITH s, a, COUNT { (s)--() } AS s_degree, COUNT { (a)--() } AS a_degree
  CALL (s, a, s_degree, a_degree) {
    WITH s, a WHERE s_degree > $max_degree OR a_degree > $max_degree
    RETURN null AS first, null AS m, null AS last
  UNION ALL
    WITH s, a WHERE s_degree <= $max_degree OR a_degree <= $max_degree
    MATCH (s)-[last]-(a)
    RETURN null AS first, s AS m, last
  UNION ALL
    WITH s, a WHERE a_degree < s_degree
    CALL (a) {
      MATCH (a)-[last]-(m:Entity)
      RETURN last, m LIMIT $max_degree
    }
    WITH s, last, m WHERE s_degree <= $max_degree OR COUNT { (m)--() } <= $max_degree
    MATCH (s)-[first]-(m)
    RETURN first, m, last
  UNION ALL
    WITH s, a WHERE a_degree >= s_degree
    CALL (s) {
      MATCH (s)-[first]-(m:Entity)
      RETURN first, m LIMIT $max_degree
    }
    WITH a, first, m WHERE a_degree <= $max_degree OR COUNT { (m)--() } <= $max_degree
    MATCH (m)-[last]-(a)
    RETURN first, m, last
  }
  UNWIND CASE WHEN first IS NULL THEN [[]] ELSE
    [inverse IN [false, true] WHERE CASE WHEN inverse THEN endNode(first) ELSE startNode(first) END = s |
     [CASE WHEN inverse THEN '^' ELSE '' END +
      CASE type(first) WHEN 'RELATED' THEN coalesce(first.relation, 'RELATED') ELSE type(first) END]] END AS before
  UNWIND CASE WHEN last IS NULL THEN [null] ELSE
    [inverse IN [false, true] WHERE CASE WHEN inverse THEN endNode(last) ELSE startNode(last) END = m |
     [CASE WHEN inverse THEN '^' ELSE '' END +
      CASE type(last) WHEN 'RELATED' THEN coalesce(last.relation, 'RELATED') ELSE type(last) END]] END AS after
  RETURN DISTINCT before + after AS path, last IS NULL AS is_cut
  LIMIT $max_paths + 1
}
WITH pair, collect(path) AS paths, collect(is_cut) AS cuts
RETURN pair.key AS pair, paths[..$max_paths] AS paths, size(paths) > $max_paths OR true IN cuts AS cut
