// Write relations into the catalogue, new ones with a count. An existing relation keeps its number, its count and its known facts.
// mode:    write
// params:  $relations :: LIST<MAP>
// returns:
// needs:   constraint relation_name
UNWIND $relations AS row
MERGE (r:Relation {name: row.name})
ON CREATE SET r.number = row.number,
              r.count = row.count,
              r.label = row.label,
              r.stored_as = row.stored_as
SET r.domain = coalesce(r.domain, row.domain),
    r.range = coalesce(r.range, row.range),
    r.inverse = coalesce(r.inverse, row.inverse)
