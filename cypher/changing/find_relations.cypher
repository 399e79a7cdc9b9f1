// The relations of the catalogue among these names.
// mode:    read
// params:  $names :: LIST<STRING>
// returns: name :: STRING, number :: INTEGER, count :: INTEGER, stored_as :: STRING
// needs:   constraint relation_name
UNWIND $names AS name
MATCH (r:Relation {name: name})
WHERE r.number IS NOT NULL
RETURN r.name AS name, r.number AS number, r.count AS count, r.stored_as AS stored_as
