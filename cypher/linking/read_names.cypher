// The names of the existing entities among these ids.
// mode:    read
// params:  $ids :: LIST<STRING>
// returns: id :: STRING, name :: STRING, aliases :: LIST<STRING>, name_tags :: STRING
// needs:   constraint entity_id
UNWIND $ids AS id
MATCH (e:Entity {id: id})
RETURN e.id AS id, e.name AS name, e.aliases AS aliases, e.name_tags AS name_tags
