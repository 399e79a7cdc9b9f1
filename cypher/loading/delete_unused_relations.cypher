// Take the relations that no triple has any more out of the catalogue.
// mode:    write
// params:
// returns:
// needs:   nothing
MATCH (r:Relation {count: 0})
WHERE r.number IS NOT NULL
DELETE r
