// Write triples [head, relation, tail] that the graph may have already; those it has are left alone.
// mode:    write
// params:  $triples :: LIST<LIST<STRING>>
// returns:
// needs:   constraint entity_id
UNWIND $triples AS row
MATCH (h:Entity {id: row[0]})
MATCH (t:Entity {id: row[2]})
MERGE (h)-[:$(row[1])]->(t)
