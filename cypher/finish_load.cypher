// Mark a load as finished.
// mode:    write
// params:  $sha256 :: STRING
// returns:
// needs:   constraint load_sha256
MATCH (l:Load {sha256: $sha256})
SET l.finished = datetime()
