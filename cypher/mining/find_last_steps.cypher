// The last steps to answers: for each answer and each step to it, the entities that the step starts at. They join the
// relation paths expanded from the topics to the answers where find_answer_paths is too short. At most $max_degree
// triples of an answer are visited: `cut` if it has more. A step is the relation's name, with ^ before it if it is
// inverse (tail to head).
// mode:    read
// params:  $answers :: LIST<STRING>, $max_degree :: INTEGER
// returns: answer :: STRING, step :: STRING, sources :: LIST<STRING>, cut :: BOOLEAN
// needs:   constraint entity_id, constraint literal_id
UNWIND $answers AS answer
CALL (answer) {
  MATCH (a:Entity {id: answer})
  RETURN a
UNION ALL
  MATCH (a:Literal {id: answer})
  RETURN a
}
CALL (a) {
  MATCH (a)-[last]-(m:Entity)
  RETURN last, m LIMIT $max_degree
}
UNWIND [inverse IN [false, true] WHERE CASE WHEN inverse THEN endNode(last) ELSE startNode(last) END = m |
  CASE WHEN inverse THEN '^' ELSE '' END +
  CASE type(last) WHEN 'RELATED' THEN coalesce(last.relation, 'RELATED') ELSE type(last) END] AS step
WITH answer, a, step, collect(DISTINCT m.id) AS sources
RETURN answer, step, sources, COUNT { (a)--() } > $max_degree AS cut
