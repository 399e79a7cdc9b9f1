// How many triples each relation has, counted in the graph itself.
// mode:    read
// params:
// returns: relation :: STRING, num_triples :: INTEGER
// needs:   nothing
MATCH (:Entity)-[r]->(:Entity)
RETURN type(r) AS relation, count(*) AS num_triples
