// The relation paths that retrieved triples make from the topics, breadth first and in both directions, for a batch of
// questions (ReG, section 4.2). Each triple is read between its two ends: one that the graph lacks is on no path.
// $questions: topics :: INTEGER, the number of topics, which are the first nodes; ids, literals (whether the node is one);
// heads, tails (places of nodes), relations (places in $relations) and ranks (0 of the best): columns
// of the triples. A step's code is 2 · relation, + 1 if it is inverse (tail to head). A path has all triples of its
// relations, and no triple twice. `levels` has the paths of 1, 2, … $max_length steps, in no order, each as the place of the
// path that it goes on from, the code of its last step, and the triples that were walked there. Of a level $max_steps steps
// are looked at, and the $max_paths paths are kept whose weakest step is the best, of equal ones those with the least codes;
// a step is worth its best triple. $max_length is at most 8.
// mode:    read
// params:  $questions :: LIST<MAP>, $relations :: LIST<STRING>, $max_length :: INTEGER, $max_paths :: INTEGER,
//          $max_steps :: INTEGER
// returns: question :: INTEGER, topic :: INTEGER, levels :: LIST<LIST<LIST<ANY>>>
// needs:   constraint entity_id, constraint literal_id
UNWIND range(0, size($questions) - 1) AS question
WITH question, $questions[question] AS asked
CALL (asked) {
  UNWIND range(0, size(asked.ids) - 1) AS node
  OPTIONAL MATCH (e:Entity {id: CASE WHEN NOT asked.literals[node] THEN asked.ids[node] END})
  OPTIONAL MATCH (l:Literal {id: CASE WHEN asked.literals[node] THEN asked.ids[node] END})
  WITH collect([coalesce(e, l)]) AS nodes
  UNWIND range(0, size(asked.heads) - 1) AS triple
  WITH triple, asked.heads[triple] AS head, asked.tails[triple] AS tail, nodes
  WITH triple, head, tail, nodes[head][0] AS h, nodes[tail][0] AS t
  MATCH (h)-[r]->(t)
  WHERE CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END
        = $relations[asked.relations[triple]]
  UNWIND CASE WHEN asked.literals[tail] OR head = tail THEN [0] ELSE [0, 1] END AS inverse
  WITH inverse, triple, CASE inverse WHEN 0 THEN [head, tail] ELSE [tail, head] END AS link
  ORDER BY inverse, triple
  WITH collect([link[0], [2 * asked.relations[triple] + inverse, link[1], triple, asked.ranks[triple]]]) AS steps
  UNWIND [node IN range(0, size(asked.ids) - 1) | [node, null]] + steps AS pair
  WITH pair[0] AS node, collect(pair[1]) AS leaving
  ORDER BY node
  RETURN collect(leaving) AS leaving
}
UNWIND range(0, asked.topics - 1) AS topic
WITH question, topic, leaving, [[{ends: [topic], keys: [0], walked: []}]] AS levels
{{> grow_paths}}
{{> grow_paths}}
{{> grow_paths}}
{{> grow_paths}}
{{> grow_paths}}
{{> grow_paths}}
{{> grow_paths}}
{{> grow_paths}}
RETURN question, topic, [level IN levels[1..] | [path IN level | [path.parent, path.code, path.triples]]] AS levels
