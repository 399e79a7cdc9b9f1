// The existing entities among these ids, with all their search names.
// mode:    read
// params:  $ids :: LIST<STRING>
// returns: id :: STRING, name :: STRING, search_names :: LIST<STRING>, degree :: INTEGER
// needs:   constraint entity_id
UNWIND $ids AS id
MATCH (e:Entity {id: id})
RETURN e.id AS id, e.name AS name, coalesce(e.search_names, []) AS search_names, coalesce(e.degree, 0) AS degree
