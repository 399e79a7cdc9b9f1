// Mark a load as finished, and remove the options that only a running load needs.
// mode:    write
// params:  $sha256 :: STRING, $options :: STRING
// returns:
// needs:   constraint load_sha256
MATCH (l:Load {sha256: $sha256})
SET l.finished = datetime(), l.options = $options
