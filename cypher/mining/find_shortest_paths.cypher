// All shortest paths between both ends of each pair, of at most four triples in any direction, none through a literal.
// Paths with the same relations are one row with their number and the names on one of them. The first $max_paths paths of
// a pair are visited: `cut` if there are more. A step is the relation's name, with ^ before it if it is inverse (tail to
// head).
// mode:    read
// params:  $pairs :: LIST<MAP>, $max_paths :: INTEGER, $value_chars :: INTEGER
// returns: pair :: INTEGER, steps :: LIST<STRING>, names :: LIST<STRING>, count :: INTEGER, cut :: BOOLEAN
// needs:   constraint entity_id, constraint literal_id
UNWIND $pairs AS pair
MATCH (s:Entity {id: pair.topic})
CALL (pair) {
  MATCH (a:Entity {id: pair.answer})
  RETURN a
UNION ALL
  MATCH (a:Literal {id: pair.answer})
  RETURN a
}
CALL (s, a) {
  MATCH path = ALL SHORTEST (s) ((x:Entity)-[r]-(y)){1,4} (a)
  WITH path, x, r LIMIT $max_paths + 1
  RETURN [i IN range(0, size(r) - 1) |
          CASE WHEN startNode(r[i]) = x[i] THEN '' ELSE '^' END +
          CASE type(r[i]) WHEN 'RELATED' THEN coalesce(r[i].relation, 'RELATED') ELSE type(r[i]) END] AS steps,
         [n IN nodes(path) | coalesce(n.name, left(n.value, $value_chars), '')] AS names
}
WITH pair, steps, names
ORDER BY pair.key, steps, names
WITH pair, steps, collect(names) AS names
WITH pair, collect({steps: steps, names: names[0], count: size(names)}) AS found
WITH pair, found, reduce(total = 0, each IN found | total + each.count) > $max_paths AS cut
UNWIND found AS each
RETURN pair.key AS pair, each.steps AS steps, each.names AS names, each.count AS count, cut
