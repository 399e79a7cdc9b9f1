// Put relations into the catalogue. A relation that is there keeps its number, its count, and what it knows already.
// mode:    write
// params:  $relations :: LIST<MAP>
// returns:
// needs:   constraint relation_name
UNWIND $relations AS row
MERGE (r:Relation {name: row.name})
ON CREATE SET r.number = row.number, r.count = 0
SET r.label = row.label,
    r.domain = coalesce(row.domain, r.domain),
    r.range = coalesce(row.range, r.range),
    r.inverse = coalesce(row.inverse, r.inverse)
