// Set the catalogue's counts of the given relations; the others keep theirs.
// mode:    write
// params:  $counts :: MAP
// returns:
// needs:   constraint relation_name
UNWIND keys($counts) AS name
MATCH (r:Relation {name: name})
SET r.count = $counts[name]
