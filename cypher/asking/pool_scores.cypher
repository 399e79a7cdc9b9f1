// Scores of retrieved triples pooled along the shortest paths from and to the topics (Path Pooling, algorithm 1), for a batch of
// questions, over the relationships that were retrieved and no others: the same as lodestar.models.path_pooling gives in memory.
// $questions: topics :: INTEGER, how many of the nodes, the first ones, are topics; ids, literals (whether the node is one),
// heads, relations, tails, scores: columns of the nodes and of the triples, heads and tails places in ids. $position is a of the
// bonus; with $use_maximum a path has the maximum of its scores, not their mean. `turned` 1 walks from tail to head: paths to a
// topic. `levels` has the nodes of each depth, [node, sum of the best way's scores, [node before, triple] of each way as good];
// going back up, `beneath` has the best s_p of the paths that end 0, 1, … triples beneath a node. What the graph does not have
// is on no path. `scores` are in the order of the triples.
// mode:    read
// params:  $questions :: LIST<MAP>, $position :: FLOAT, $use_maximum :: BOOLEAN
// returns: question :: INTEGER, scores :: LIST<FLOAT>
// needs:   constraint entity_id, constraint literal_id
UNWIND range(0, size($questions) - 1) AS question
WITH question, $questions[question] AS asked
WITH question, asked, reduce(least = null, s IN asked.scores | CASE WHEN least <= s THEN least ELSE s END) / $position AS bonus
CALL (asked) {
  {{> triples_in_graph}}
  WITH place, head, tail ORDER BY place
  RETURN collect([head, tail, place]) AS edges
}
CALL (asked, edges, bonus) {
  UNWIND CASE WHEN asked.topics > 0 THEN [0, 1] ELSE [] END AS turned
  CALL (asked, edges, turned) {
    UNWIND [node IN range(0, size(asked.ids) - 1) | [node, null]] + [edge IN edges | [edge[turned], edge[2]]] AS pair
    WITH pair[0] AS node, collect(pair[1]) AS triples
    ORDER BY node
    RETURN collect(triples) AS onward
  }
  WITH asked, bonus, turned, onward, CASE turned WHEN 0 THEN asked.tails ELSE asked.heads END AS ends
  UNWIND range(0, asked.topics - 1) AS topic
  WITH asked, bonus, turned, reduce(
    grown = {levels: [[[topic, CASE WHEN $use_maximum THEN null ELSE 0.0 END, []]]], reached: [topic]},
    depth IN range(1, size(asked.ids) - 1) |
    CASE WHEN size(grown.levels[-1]) = 0 THEN grown
    ELSE head([level IN [COLLECT {
      WITH COLLECT {
        UNWIND grown.levels[-1] AS state
        UNWIND onward[state[0]] AS triple
        WITH state[0] AS source, state[1] AS sum, triple, ends[triple] AS target, asked.scores[triple] AS score
        WHERE NOT target IN grown.reached
        RETURN [
          target,
          CASE WHEN NOT $use_maximum THEN sum + score WHEN sum > score THEN sum ELSE score END,
          [source, triple]
        ]
      } AS ways
      WITH ways, COLLECT { UNWIND ways AS way RETURN DISTINCT way[0] } AS targets
      UNWIND targets AS target
      WITH target, [way IN ways WHERE way[0] = target] AS ways
      WITH target, ways, reduce(best = null, way IN ways | CASE WHEN best >= way[1] THEN best ELSE way[1] END) AS best
      RETURN [target, best, [way IN ways WHERE way[1] = best | way[2]]]
    }] | {levels: grown.levels + [level], reached: grown.reached + [state IN level | state[0]]}])
    END
  ).levels AS levels
  UNWIND reduce(
    back = {rows: [], found: []},
    depth IN range(size(levels) - 1, 1, -1) |
    head([rows IN [COLLECT {
      UNWIND levels[depth] AS state
      WITH state[2] AS ways,
           [[CASE WHEN $use_maximum THEN state[1] ELSE state[1] / depth END]]
           + [row IN back.rows WHERE row[0] = state[0] | [null] + row[1]] AS several
      WITH ways,
           several,
           reduce(longest = 0, one IN several | CASE WHEN size(one) > longest THEN size(one) ELSE longest END) AS longest
      WITH ways,
           [k IN range(0, longest - 1) |
            reduce(best = null, one IN several | CASE WHEN one[k] IS NULL OR best >= one[k] THEN best ELSE one[k] END)
           ] AS beneath
      WITH ways,
           beneath,
           [k IN range(0, size(beneath) - 1) | beneath[k] + bonus / CASE turned WHEN 0 THEN depth ELSE k + 1 END] AS values
      UNWIND ways AS way
      RETURN [way[0], beneath, way[1], reduce(best = null, s IN values | CASE WHEN best >= s THEN best ELSE s END)]
    }] | {rows: rows, found: back.found + [row IN rows | [row[2], row[3]]]}])
  ).found AS pair
  RETURN collect(pair) AS found
}
CALL (asked, found, bonus) {
  UNWIND [place IN range(0, size(asked.scores) - 1) | [place, null]] + found AS pair
  WITH asked, bonus, pair[0] AS place, max(pair[1]) AS best
  ORDER BY place
  RETURN collect(coalesce(best, asked.scores[place] + bonus)) AS scores
}
RETURN question, scores
