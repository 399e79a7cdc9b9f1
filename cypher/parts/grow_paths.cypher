// One level more of the paths in expand_chains: those that are one step longer than the last level's. No rows are ordered:
// a row that waits for its order counts with all that its question holds, which is quadratic in the number of paths.
CALL (leaving, levels) {
  UNWIND CASE WHEN size(levels) <= $max_length THEN range(0, size(levels[-1]) - 1) ELSE [] END AS parent
  UNWIND levels[-1][parent].ends AS source
  UNWIND [step IN leaving[source] WHERE none(
    before IN levels[-1][parent].walked WHERE before[0] = step[0] / 2 AND step[2] IN before[1]
  )] AS step
  WITH parent, step
  LIMIT $max_steps
  WITH parent, step[0] AS code, collect(step[2]) AS triples, collect(DISTINCT step[1]) AS ends, min(step[3]) AS best
  WITH collect({
    parent: parent, code: code, triples: triples, ends: ends, codes: levels[-1][parent].codes + [code],
    rank: CASE WHEN levels[-1][parent].rank > best THEN levels[-1][parent].rank ELSE best END,
    walked: levels[-1][parent].walked + [[code / 2, triples]]
  }) AS grown
  RETURN CASE WHEN size(grown) <= $max_paths THEN grown ELSE head(
    [last IN [head([rank IN range(0, $num_ranks) WHERE size([path IN grown WHERE path.rank <= rank]) >= $max_paths])] |
      [path IN grown WHERE path.rank < last OR path.rank = last AND $max_paths >
        size([other IN grown WHERE other.rank < last OR other.rank = last AND other.codes < path.codes])]
    ]) END AS longer
}
WITH question, topic, leaving, levels + [longer] AS levels
