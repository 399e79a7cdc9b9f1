// The entities with the most triples, in descending order.
// mode:    read
// params:  $limit :: INTEGER
// returns: id :: STRING, name :: STRING, degree :: INTEGER
// needs:   nothing
MATCH (e:Entity)
WHERE e.degree > 0
RETURN e.id AS id, e.name AS name, e.degree AS degree
ORDER BY degree DESC, id
LIMIT $limit
