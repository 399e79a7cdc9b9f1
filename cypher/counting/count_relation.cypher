// Count the relationships of a relation with a type of its own, and those that leave and enter nodes that can be in a
// triple, from the counts that Neo4j keeps, without a scan.
// mode:    read
// params:
// names:   RELATION
// returns: num_all :: INTEGER, num_leaving :: INTEGER, num_entering :: INTEGER
// needs:   nothing
RETURN COUNT { ()-[:{{RELATION}}]->() } AS num_all,
       COUNT { (:Entity)-[:{{RELATION}}]->() } AS num_leaving,
       COUNT { ()-[:{{RELATION}}]->(:Entity) } + COUNT { ()-[:{{RELATION}}]->(:Literal) } AS num_entering
