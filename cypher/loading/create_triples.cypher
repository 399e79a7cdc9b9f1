// Write triples [head, relation, tail] of relations that are new to the graph. The tails are all entities or all
// literals; $loads is null for the base load.
// mode:    write
// params:  $triples :: LIST<LIST<STRING>>, $loads :: LIST<INTEGER>
// names:   TAIL
// returns:
// needs:   constraint entity_id, constraint literal_id
UNWIND $triples AS row
MATCH (h:Entity {id: row[0]})
MATCH (t:{{TAIL}} {id: row[2]})
CREATE (h)-[r:$(row[1])]->(t)
SET r.loads = $loads
