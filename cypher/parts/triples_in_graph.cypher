// Place, head and tail of those of the given triples that are in the graph, each looked up between its two ends. asked
// has columns: ids, literals of the nodes; heads, relations, tails of the triples, heads and tails are places in ids.
UNWIND range(0, size(asked.heads) - 1) AS place
WITH place, asked.heads[place] AS head, asked.relations[place] AS relation, asked.tails[place] AS tail, asked
MATCH (h:Entity {id: asked.ids[head]})
CALL (asked, tail) {
  WITH * WHERE NOT asked.literals[tail]
  MATCH (t:Entity {id: asked.ids[tail]})
  RETURN t
UNION ALL
  WITH * WHERE asked.literals[tail]
  MATCH (t:Literal {id: asked.ids[tail]})
  RETURN t
}
WITH asked, place, head, tail, h, t, relation
WHERE EXISTS {
  MATCH (h)-[r]->(t)
  WHERE CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END = relation
}
