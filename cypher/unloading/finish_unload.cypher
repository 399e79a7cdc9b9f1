// Delete the manifest of a fully deleted load.
// mode:    write
// params:  $sha256 :: STRING
// returns:
// needs:   constraint load_sha256
MATCH (l:Load {sha256: $sha256})
DELETE l
