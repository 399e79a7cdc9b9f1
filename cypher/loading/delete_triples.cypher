// Delete all triples.
// mode:    write
// params:  $batch_size :: INTEGER
// returns:
// needs:   nothing
MATCH (:Entity)-[r]->(:Entity|Literal)
CALL (r) {
  DELETE r
} IN TRANSACTIONS OF $batch_size ROWS
