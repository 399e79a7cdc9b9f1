// Take entities that were created by other programs for Lodestar's own: they have an id and no degree yet.
// mode:    write
// params:  $batch_size :: INTEGER
// returns:
// needs:   nothing
MATCH (e:Entity)
WHERE e.id IS NOT NULL AND e.degree IS NULL
CALL (e) {
  SET e.degree = 0
} IN TRANSACTIONS OF $batch_size ROWS
