// How many nodes have the label of a load. Neo4j keeps this count.
// mode:    read
// params:
// names:   LABEL
// returns: num_marked :: INTEGER
// needs:   nothing
RETURN COUNT { (:{{LABEL}}) } AS num_marked
