// The first entities by id that have a name, with the relations that leave (n) and enter (-n) them.
// mode:    read
// params:  $limit :: INTEGER, $max_relations :: INTEGER
// returns: name :: STRING, signature :: LIST<INTEGER>
// needs:   constraint entity_id
MATCH (e:Entity)
WHERE e.id IS NOT NULL AND e.name IS NOT NULL
WITH e
ORDER BY e.id
LIMIT $limit
RETURN left(e.name, 200) AS name, coalesce(e.signature_relations, [])[..$max_relations] AS signature
