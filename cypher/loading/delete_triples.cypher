// Delete all triples, head by head: Neo4j finds the relationships of a node soonest in their stored order. Relations that
// are not in $numbers, those of the catalogue, are not Lodestar's.
// mode:    write
// params:  $numbers :: MAP, $batch_size :: INTEGER
// returns:
// needs:   nothing
MATCH (h:Entity)-[r]->(:Entity|Literal) USING SCAN h:Entity
WHERE $numbers[CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END] IS NOT NULL
CALL (r) {
  DELETE r
} IN TRANSACTIONS OF $batch_size ROWS
