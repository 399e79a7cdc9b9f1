// Write the picture of one question for Neo4j Browser, replacing an earlier one of the same question. Every node carries
// the question's id. Of the others the newest $others stay. Labels and relationship types are data here; arrows refer to nodes by their index in $nodes. A node
// with the id of an entity or a literal is linked to it, so that a reader can explore from there.
// mode:    write
// params:  $question :: STRING, $nodes :: LIST<MAP>, $arrows :: LIST<MAP>, $others :: INTEGER
// returns: num_nodes :: INTEGER
// needs:   constraint entity_id, constraint literal_id
CALL () {
  MATCH (old:LodestarQuestion|LodestarPath|LodestarTopic|LodestarInner|LodestarEnd|LodestarRest {question: $question})
  DETACH DELETE old
}
CALL () {
  MATCH (other:LodestarQuestion)
  WITH other.question AS question ORDER BY other.written DESC SKIP $others
  MATCH (old:LodestarQuestion|LodestarPath|LodestarTopic|LodestarInner|LodestarEnd|LodestarRest {question: question})
  DETACH DELETE old
}
CALL () {
  UNWIND $nodes AS node
  CREATE (n:$(node.label))
  SET n = node.properties, n.question = $question
  RETURN collect(n) AS nodes
}
CALL (nodes) {
  WITH nodes[0] AS question
  SET question.written = timestamp()
}
CALL (nodes) {
  UNWIND $arrows AS arrow
  WITH nodes[arrow.start] AS start, nodes[arrow.end] AS end, arrow
  CREATE (start)-[r:$(arrow.type)]->(end)
  SET r = arrow.properties
}
CALL (nodes) {
  UNWIND nodes AS node
  MATCH (e:Entity {id: node.id})
  CREATE (node)-[:LODESTAR_IS]->(e)
}
CALL (nodes) {
  UNWIND nodes AS node
  MATCH (l:Literal {id: node.literal})
  CREATE (node)-[:LODESTAR_IS]->(l)
}
RETURN size(nodes) AS num_nodes
