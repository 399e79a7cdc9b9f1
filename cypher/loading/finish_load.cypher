// Mark a load as finished; its options lose what was only needed while it was under way.
// mode:    write
// params:  $sha256 :: STRING, $options :: STRING
// returns:
// needs:   constraint load_sha256
MATCH (l:Load {sha256: $sha256})
SET l.finished = datetime(), l.options = $options
