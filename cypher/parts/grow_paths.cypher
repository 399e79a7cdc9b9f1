// One level more of the paths in expand_chains: those that are one step longer than the last level's. No rows are ordered:
// a row that waits for its order counts with all that its question holds, which is quadratic in the number of paths.
// The least $max_paths by their keys are found key by key: what has a key below the last one's is kept, what has the same
// goes on to the next key; that key is found bit by bit.
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
    parent: parent, code: code, triples: triples, ends: ends,
    keys: [CASE WHEN levels[-1][parent].keys[0] > best THEN levels[-1][parent].keys[0] ELSE best END] +
      levels[-1][parent].keys[1..] + [code],
    walked: levels[-1][parent].walked + [[code / 2, triples]]
  }) AS grown
  RETURN CASE WHEN size(grown) <= $max_paths THEN grown ELSE head(
    [found IN [reduce(found = {kept: [], rest: grown}, at IN range(0, size(grown[0].keys) - 1) | head(
      [last IN [reduce(last = 0, bit IN [power IN range(30, 0, -1) | toInteger(2 ^ power)] | CASE
        WHEN size(found.kept) + size([path IN found.rest WHERE path.keys[at] < last + bit]) < $max_paths
        THEN last + bit ELSE last END)] | {
          kept: found.kept + [path IN found.rest WHERE path.keys[at] < last],
          rest: [path IN found.rest WHERE path.keys[at] = last]
        }]))] | found.kept + found.rest]
  ) END AS longer
}
WITH question, topic, leaving, levels + [longer] AS levels
