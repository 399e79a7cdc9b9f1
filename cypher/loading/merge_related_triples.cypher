// Write triples [head, relation, tail] of relations without a relationship type of their own. Otherwise as merge_triples.
// mode:    write
// params:  $triples :: LIST<LIST<STRING>>, $load :: INTEGER
// names:   TAIL
// returns:
// needs:   constraint entity_id, constraint literal_id
UNWIND $triples AS row
MATCH (h:Entity {id: row[0]})
MATCH (t:{{TAIL}} {id: row[2]})
MERGE (h)-[r:RELATED {relation: row[1]}]->(t)
ON CREATE SET r.loads = CASE $load WHEN 1 THEN null ELSE [$load] END
ON MATCH SET r.loads =
  CASE WHEN $load IN coalesce(r.loads, [1]) THEN r.loads ELSE coalesce(r.loads, [1]) + [$load] END
