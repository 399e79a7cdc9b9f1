// The names of the loaded entities with the given label, in store order.
// mode:    read
// params:
// names:   LABEL
// returns: id :: STRING, name :: STRING, aliases :: LIST<STRING>, name_tags :: STRING
// needs:   nothing
MATCH (e:{{LABEL}})
WHERE e:Entity AND e.degree IS NOT NULL AND e.name IS NOT NULL
RETURN e.id AS id, e.name AS name, e.aliases AS aliases, e.name_tags AS name_tags
