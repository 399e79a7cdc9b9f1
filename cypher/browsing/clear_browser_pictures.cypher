// Delete at most $limit nodes of the pictures for Neo4j Browser, with their relationships; repeat until none are left.
// mode:    write
// params:  $limit :: INTEGER
// returns: num_questions :: INTEGER, num_nodes :: INTEGER, num_relationships :: INTEGER
// needs:   nothing
MATCH (n:LodestarQuestion|LodestarPath|LodestarTopic|LodestarInner|LodestarEnd|LodestarRest)
WITH n LIMIT $limit
OPTIONAL MATCH (n)-[r]-()
WITH collect(DISTINCT n) AS nodes, count(DISTINCT r) AS num_relationships
WITH nodes, num_relationships,
     size(nodes) AS num_nodes,
     size([n IN nodes WHERE n:LodestarQuestion]) AS num_questions
CALL (nodes) {
  UNWIND nodes AS n
  DETACH DELETE n
}
RETURN num_questions, num_nodes, num_relationships
