// Write triples [head, relation, tail] of relations of which the graph has none yet.
// mode:    write
// params:  $triples :: LIST<LIST<STRING>>
// returns:
// needs:   constraint entity_id
UNWIND $triples AS row
MATCH (h:Entity {id: row[0]})
MATCH (t:Entity {id: row[2]})
CREATE (h)-[:$(row[1])]->(t)
