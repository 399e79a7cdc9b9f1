// The named entities, by id, with all their names; the index provides the order.
// mode:    read
// params:
// returns: id :: STRING, name :: STRING, aliases :: LIST<STRING>, name_tags :: STRING
// needs:   constraint entity_id
MATCH (e:Entity)
USING INDEX e:Entity(id)
WHERE e.id IS NOT NULL AND e.name IS NOT NULL
RETURN e.id AS id, e.name AS name, e.aliases AS aliases, e.name_tags AS name_tags
ORDER BY id
