// Delete the entities and literals that are in no triple any more.
// mode:    write
// params:  $batch_size :: INTEGER
// returns:
// needs:   nothing
MATCH (n:Entity|Literal)
WHERE NOT EXISTS { (n)--(:Entity|Literal) }
CALL (n) {
  DETACH DELETE n
} IN TRANSACTIONS OF $batch_size ROWS
