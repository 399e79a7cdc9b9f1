// Remove a load's label from all nodes.
// mode:    write
// params:  $batch_size :: INTEGER
// names:   LABEL
// returns:
// needs:   nothing
MATCH (n:{{LABEL}})
CALL (n) {
  REMOVE n:{{LABEL}}
} IN TRANSACTIONS OF $batch_size ROWS
