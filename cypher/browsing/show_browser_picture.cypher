// The picture of one question alone: the query in the link to Neo4j Browser, with the question's id filled in.
// mode:    read
// params:  $question :: STRING
// returns: n :: NODE, r :: RELATIONSHIP, m :: NODE
// needs:   nothing
MATCH (n:LodestarQuestion|LodestarPath|LodestarTopic|LodestarInner|LodestarEnd|LodestarRest {question: $question})
OPTIONAL MATCH (n)-[r]->(m {question: $question})
RETURN n, r, m
