// Wait until every index is ready.
// mode:    read
// params:  $timeout_s :: INTEGER
// returns:
// needs:   nothing
CALL db.awaitIndexes($timeout_s)
