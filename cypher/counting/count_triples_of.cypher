// Count the triples of a relation whose type other relationships use as well, by visiting each of them.
// mode:    read
// params:
// names:   RELATION
// returns: num_triples :: INTEGER
// needs:   nothing
MATCH (:Entity)-[r:{{RELATION}}]->(:Entity|Literal)
RETURN count(r) AS num_triples
