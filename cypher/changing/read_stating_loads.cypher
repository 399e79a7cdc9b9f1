// The loads that state those of the given triples [head, relation, tail] that the graph has, each looked for between its
// two ends. The tails are all entities or all literals.
// mode:    read
// params:  $triples :: LIST<LIST<STRING>>
// names:   TAIL
// returns: triple :: LIST<STRING>, is_literal :: BOOLEAN, loads :: LIST<INTEGER>
// needs:   constraint entity_id, constraint literal_id
UNWIND $triples AS row
MATCH (h:Entity {id: row[0]})
MATCH (t:{{TAIL}} {id: row[2]})
MATCH (h)-[r]->(t)
WHERE CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END = row[1]
RETURN row AS triple, t:Literal AS is_literal, coalesce(r.loads, [1]) AS loads
