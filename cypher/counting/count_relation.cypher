// How many relationships a relation has that is a type of its own, and how many of them leave and enter what may stand in a
// triple: Neo4j keeps these counts, nothing is scanned.
// mode:    read
// params:
// names:   RELATION
// returns: num_all :: INTEGER, num_leaving :: INTEGER, num_entering :: INTEGER
// needs:   nothing
RETURN COUNT { ()-[:{{RELATION}}]->() } AS num_all,
       COUNT { (:Entity)-[:{{RELATION}}]->() } AS num_leaving,
       COUNT { ()-[:{{RELATION}}]->(:Entity) } + COUNT { ()-[:{{RELATION}}]->(:Literal) } AS num_entering
