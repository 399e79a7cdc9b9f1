// How many triples a relation has that is a relationship type of its own: Neo4j keeps this count, nothing is scanned.
// mode:    read
// params:
// names:   RELATION
// returns: num_triples :: INTEGER
// needs:   nothing
MATCH ()-[r:{{RELATION}}]->()
RETURN count(r) AS num_triples
