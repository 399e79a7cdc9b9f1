// Set the catalogue's counts; relations without a given count get 0.
// mode:    write
// params:  $counts :: MAP
// returns:
// needs:   constraint relation_name
MATCH (r:Relation)
WHERE r.number IS NOT NULL
SET r.count = coalesce($counts[r.name], 0)
