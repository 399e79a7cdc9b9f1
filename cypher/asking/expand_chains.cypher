// The chains of retrieved triples from the topics, breadth first, for a batch of questions. First it reads those triples
// that are in the graph, each looked up between its two ends; then it expands, over these alone, every row that starts at
// a topic. $questions: topics :: INTEGER, the number of topics, which are the first nodes; ids, literals (whether the
// node is one), heads, relations, tails: columns of the nodes and of the triples, heads and tails are places in ids. A
// step is 2 · place of its triple, + 1 if it is inverse (tail to head). A chain has no triple twice, and unless $turning
// all its steps have one direction. `levels` has the chains of 1, 2, … $max_length steps, at most $max_chains + 1 each;
// the first $max_chains are expanded.
// mode:    read
// params:  $questions :: LIST<MAP>, $max_length :: INTEGER, $max_chains :: INTEGER, $turning :: BOOLEAN
// returns: question :: INTEGER, topic :: INTEGER, levels :: LIST<LIST<LIST<INTEGER>>>
// needs:   constraint entity_id, constraint literal_id
UNWIND range(0, size($questions) - 1) AS question
WITH question, $questions[question] AS asked
CALL (asked) {
  {{> triples_in_graph}}
  UNWIND CASE WHEN asked.literals[tail] OR head = tail THEN [0] ELSE [0, 1] END AS inverse
  WITH CASE inverse WHEN 0 THEN head ELSE tail END AS source, 2 * place + inverse AS step
  ORDER BY step
  RETURN collect([source, step]) AS steps
}
CALL (asked, steps) {
  UNWIND [node IN range(0, size(asked.ids) - 1) | [node, null]] + steps AS pair
  WITH pair[0] AS node, collect(pair[1]) AS leaving
  ORDER BY node
  RETURN collect(leaving) AS leaving
}
UNWIND range(0, asked.topics - 1) AS topic
RETURN question,
       topic,
       reduce(
         levels = [[step IN leaving[topic][..$max_chains + 1] | [step]]],
         length IN range(2, $max_length) |
         levels + [COLLECT {
           UNWIND levels[-1][..$max_chains] AS chain
           WITH chain, chain[-1] AS last
           UNWIND leaving[CASE last % 2 WHEN 0 THEN asked.tails[last / 2] ELSE asked.heads[last / 2] END] AS step
           WITH chain, last, step
           WHERE ($turning OR step % 2 = last % 2) AND none(walked IN chain WHERE walked / 2 = step / 2)
           RETURN chain + step
           LIMIT $max_chains + 1
         }]
       ) AS levels
