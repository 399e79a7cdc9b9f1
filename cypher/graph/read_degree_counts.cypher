// How many entities have each degree, and how many of them have a name.
// mode:    read
// params:
// returns: degree :: INTEGER, num_entities :: INTEGER, num_named :: INTEGER
// needs:   nothing
MATCH (e:Entity)
RETURN coalesce(e.degree, 0) AS degree, count(*) AS num_entities, count(e.name) AS num_named
ORDER BY degree
