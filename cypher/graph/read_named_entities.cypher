// The next named entities, by id.
// mode:    read
// params:  $after :: STRING, $limit :: INTEGER
// returns: id :: STRING, name :: STRING, aliases :: LIST<STRING>, name_tags :: STRING, search_names :: LIST<STRING>
// needs:   constraint entity_id
MATCH (e:Entity)
WHERE e.id > $after AND e.name IS NOT NULL
RETURN e.id AS id, e.name AS name, e.aliases AS aliases, e.name_tags AS name_tags, e.search_names AS search_names
ORDER BY e.id
LIMIT $limit
