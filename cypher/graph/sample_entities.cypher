// Some entities that have a name, with the relations that leave (n) and enter (-n) them.
// mode:    read
// params:  $limit :: INTEGER, $max_relations :: INTEGER
// returns: name :: STRING, signature :: LIST<INTEGER>
// needs:   nothing
MATCH (e:Entity)
WHERE e.name IS NOT NULL
WITH e
LIMIT $limit
RETURN left(e.name, 200) AS name, coalesce(e.signature_relations, [])[..$max_relations] AS signature
