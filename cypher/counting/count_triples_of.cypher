// How many triples a relation has among relationships of that type that are none: each of them is looked at.
// mode:    read
// params:
// names:   RELATION
// returns: num_triples :: INTEGER
// needs:   nothing
MATCH (:Entity)-[r:{{RELATION}}]->(:Entity|Literal)
RETURN count(r) AS num_triples
