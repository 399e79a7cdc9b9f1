// Delete triples [head, relation, tail]. The tails are all entities or all literals.
// mode:    write
// params:  $triples :: LIST<LIST<STRING>>
// names:   TAIL
// returns:
// needs:   constraint entity_id, constraint literal_id
UNWIND $triples AS row
MATCH (h:Entity {id: row[0]})
MATCH (t:{{TAIL}} {id: row[2]})
MATCH (h)-[r]->(t)
WHERE CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END = row[1]
DELETE r
