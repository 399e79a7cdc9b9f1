// Mark a load as being deleted: unfinished from now on.
// mode:    write
// params:  $sha256 :: STRING
// returns:
// needs:   constraint load_sha256
MATCH (l:Load {sha256: $sha256})
SET l.deleting = true
REMOVE l.finished
