// The manifests of all loads, by number and start: their properties, with times as ISO 8601 text.
// mode:    read
// params:
// returns: manifest :: MAP
// needs:   nothing
MATCH (l:Load)
WHERE l.sha256 IS NOT NULL
WITH l ORDER BY coalesce(l.number, 1), l.started
RETURN l {.*, started: toString(l.started), finished: toString(l.finished)} AS manifest
