// Delete the entities and literals that are in no triple any more, among the nodes with the label given. What a load wrote
// has a degree or a value; what others have put a relationship at stays.
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
