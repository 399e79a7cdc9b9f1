// One level more of the paths in expand_chains: those that are one step longer than the last level's.
CALL (leaving, levels) {
  UNWIND CASE WHEN size(levels) <= $max_length THEN range(0, size(levels[-1]) - 1) ELSE [] END AS parent
  WITH parent, levels[-1][parent] AS path
  UNWIND path.ends AS source
  UNWIND leaving[source] AS step
  WITH parent, path, step
  WHERE none(before IN path.walked WHERE before[0] = step[0] / 2 AND step[2] IN before[1])
  WITH parent, step
  LIMIT $max_steps
  WITH parent, step[0] AS code, collect(step[2]) AS triples, collect(DISTINCT step[1]) AS ends, max(step[3]) AS best
  WITH levels[-1][parent] AS path, parent, code, triples, ends, best
  WITH path, parent, code, triples, ends, CASE WHEN path.best < best THEN path.best ELSE best END AS best
  ORDER BY best DESC, parent, code
  LIMIT $max_paths
  RETURN collect({
    parent: parent, code: code, triples: triples, ends: ends, best: best, walked: path.walked + [[code / 2, triples]]
  }) AS longer
}
WITH question, topic, leaving, levels + [longer] AS levels
