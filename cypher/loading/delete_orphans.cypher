// Delete the entities and literals without triples, among the nodes with the given label. Loaded nodes have a degree or a
// value; nodes with foreign relationships stay.
// mode:    write
// params:  $batch_size :: INTEGER
// names:   LABEL
// returns:
// needs:   nothing
MATCH (n:{{LABEL}})
WHERE n:Entity|Literal
  AND coalesce(n.degree, n.value) IS NOT NULL
  AND NOT EXISTS {
    MATCH (n)-[r]-()
    WHERE type(r) <> 'LODESTAR_IS'
  }
CALL (n) {
  DETACH DELETE n
} IN TRANSACTIONS OF $batch_size ROWS
