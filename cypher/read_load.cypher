// The manifest of a load, by the hash of its content: its properties, times as ISO 8601 text.
// mode:    read
// params:  $sha256 :: STRING
// returns: manifest :: MAP
// needs:   nothing
MATCH (l:Load {sha256: $sha256})
RETURN l {.*, started: toString(l.started), finished: toString(l.finished)} AS manifest
