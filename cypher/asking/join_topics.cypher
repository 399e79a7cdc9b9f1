// The shortest paths between the two topics of each pair, of at most two triples in any direction, with the nodes on
// them. A path leads through no literal and through no node with more than $max_degree triples. The first $max_paths + 1
// paths of a pair are returned. A step is the relation's name, with ^ before it if it is inverse (tail to head).
// mode:    read
// params:  $pairs :: LIST<LIST<STRING>>, $max_degree :: INTEGER, $max_paths :: INTEGER
// returns: pair :: INTEGER, steps :: LIST<STRING>, nodes :: LIST<STRING>
// needs:   constraint entity_id
UNWIND range(0, size($pairs) - 1) AS pair
MATCH (a:Entity {id: $pairs[pair][0]})
MATCH (b:Entity {id: $pairs[pair][1]})
CALL (a, b) {
  MATCH ALL SHORTEST (a) ((x:Entity)-[r]-(y:Entity)
    WHERE (x = a OR COUNT { (x)--() } <= $max_degree) AND (y = b OR COUNT { (y)--() } <= $max_degree)){1,2} (b)
  WITH x, r
  LIMIT $max_paths + 1
  RETURN [i IN range(0, size(r) - 1) |
          CASE WHEN startNode(r[i]) = x[i] THEN '' ELSE '^' END +
          CASE type(r[i]) WHEN 'RELATED' THEN coalesce(r[i].relation, 'RELATED') ELSE type(r[i]) END] AS steps,
         [n IN x[1..] | n.id] AS nodes
}
RETURN pair, steps, nodes
