// Write the relation signatures of entities.
// mode:    write
// params:  $entities :: LIST<MAP>
// returns:
// needs:   constraint entity_id
UNWIND $entities AS row
MATCH (e:Entity {id: row.id})
SET e.signature_relations = row.relations,
    e.signature_counts = row.counts,
    e.degree = row.degree
