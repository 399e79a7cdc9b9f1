// Count the triples of each relation that has no relationship type of its own.
// mode:    read
// params:
// returns: relation :: STRING, num_triples :: INTEGER
// needs:   nothing
MATCH (:Entity)-[r:RELATED]->(:Entity|Literal)
RETURN coalesce(r.relation, 'RELATED') AS relation, count(*) AS num_triples
