// The labels at the two ends of some relationships of a type, and how often they stand there.
// mode:    read
// params:  $limit :: INTEGER
// names:   RELATION
// returns: starts :: LIST<STRING>, ends :: LIST<STRING>, num :: INTEGER
// needs:   nothing
MATCH (s)-[r:{{RELATION}}]->(t)
WITH s, t LIMIT $limit
RETURN labels(s) AS starts, labels(t) AS ends, count(*) AS num
