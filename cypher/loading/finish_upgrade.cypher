// Mark all loads as being of this version of the graph model.
// mode:    write
// params:  $version :: INTEGER
// returns:
// needs:   nothing
MATCH (l:Load)
WHERE l.sha256 IS NOT NULL
SET l.graph_version = $version
