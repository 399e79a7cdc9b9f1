// Remove relations without triples from the catalogue.
// mode:    write
// params:
// returns:
// needs:   nothing
MATCH (r:Relation {count: 0})
WHERE r.number IS NOT NULL
DELETE r
