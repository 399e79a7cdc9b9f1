// The picture of one question, nothing else: what the link to Neo4j Browser holds, with the question's id written out.
// mode:    read
// params:  $question :: STRING
// returns: n :: NODE, r :: RELATIONSHIP, m :: NODE
// needs:   nothing
MATCH (n:LodestarQuestion|LodestarPath|LodestarTopic|LodestarInner|LodestarEnd|LodestarRest {question: $question})
OPTIONAL MATCH (n)-[r]->(m {question: $question})
RETURN n, r, m
