// The next named entities, by id, with their relation signatures.
// mode:    read
// params:  $after :: STRING, $limit :: INTEGER
// returns: id :: STRING, name :: STRING, signature :: LIST<INTEGER>
// needs:   constraint entity_id
MATCH (e:Entity)
WHERE e.id > $after AND e.name IS NOT NULL
RETURN e.id AS id, e.name AS name, coalesce(e.signature_relations, []) AS signature
ORDER BY e.id
LIMIT $limit
