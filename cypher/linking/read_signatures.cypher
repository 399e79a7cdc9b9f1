// Entities by id with their relation signatures: catalogue numbers of the relations that leave (n) and enter (-n) them.
// mode:    read
// params:  $ids :: LIST<STRING>
// returns: id :: STRING, name :: STRING, degree :: INTEGER, signature :: LIST<INTEGER>
// needs:   constraint entity_id
UNWIND $ids AS id
MATCH (e:Entity {id: id})
RETURN e.id AS id,
       e.name AS name,
       coalesce(e.degree, 0) AS degree,
       coalesce(e.signature_relations, []) AS signature
