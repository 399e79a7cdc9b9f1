// The next literals, or entities with a name, by id, with the text and the datatype that a typed value is made of; those
// with a language have none.
// mode:    read
// params:  $after :: STRING, $limit :: INTEGER, $max_chars :: INTEGER
// names:   LABEL
// returns: id :: STRING, text :: STRING, datatype :: STRING
// needs:   constraint entity_id, constraint literal_id
MATCH (n:{{LABEL}})
WHERE n.id > $after
WITH n ORDER BY n.id LIMIT $limit
RETURN n.id AS id,
       CASE WHEN n.language IS NULL THEN left(coalesce(n.value, n.name, ''), $max_chars) ELSE '' END AS text,
       n.datatype AS datatype
