// Write the manifest of a new load; it is unfinished until finish_load.
// mode:    write
// params:  $sha256 :: STRING, $properties :: MAP
// returns:
// needs:   constraint load_sha256
MERGE (l:Load {sha256: $sha256})
SET l += $properties, l.started = datetime()
REMOVE l.finished
