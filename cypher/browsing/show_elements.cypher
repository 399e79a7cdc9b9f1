// Nodes by their element ids: the query in the link to the Neo4j that a graph was loaded from, with the ids filled in.
// mode:    read
// params:  $ids :: LIST<STRING>
// returns: n :: NODE
// needs:   nothing
UNWIND $ids AS id
MATCH (n)
WHERE elementId(n) = id
RETURN n
