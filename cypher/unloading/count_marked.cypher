// Count the nodes with a load's label; Neo4j keeps this count.
// mode:    read
// params:
// names:   LABEL
// returns: num_marked :: INTEGER
// needs:   nothing
RETURN COUNT { (:{{LABEL}}) } AS num_marked
