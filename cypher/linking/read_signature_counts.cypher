// Entities by id with their relation signatures and how many triples each relation has: catalogue numbers of the relations
// that leave (n) and enter (-n) them, followed by as many counts.
// mode:    read
// params:  $ids :: LIST<STRING>
// returns: id :: STRING, name :: STRING, signature :: LIST<INTEGER>
// needs:   constraint entity_id
UNWIND $ids AS id
MATCH (e:Entity {id: id})
RETURN e.id AS id, e.name AS name, e.signature_relations + e.signature_counts AS signature
