// For each question the kinds of some of its answers, by id, with what they are subclasses of, and the kinds of the graph
// whose names match the question's noun. A kind is what a relation of $types leads to (catalogue numbers and names), at
// most four subclass relations up. At most $limit kinds of an answer, and as many matches of a noun, are read.
// mode:    read
// params:  $asked :: LIST<MAP>, $types :: LIST<STRING>, $numbers :: LIST<INTEGER>, $subclass :: LIST<STRING>,
//          $limit :: INTEGER
// returns: kinds :: LIST<LIST<STRING>>, known :: LIST<STRING>
// needs:   constraint entity_id, full-text index entity_names
UNWIND range(0, size($asked) - 1) AS question
WITH question, $asked[question] AS asked
CALL (asked) {
  UNWIND asked.ends AS id
  MATCH (e:Entity {id: id})
  CALL (e) {
    MATCH (e)-[r]->(kind)
    WHERE CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END IN $types
    WITH kind LIMIT $limit
    MATCH p = (kind)-[*0..4]->(up)
    WHERE all(s IN relationships(p)
              WHERE CASE type(s) WHEN 'RELATED' THEN coalesce(s.relation, 'RELATED') ELSE type(s) END IN $subclass)
    WITH DISTINCT up LIMIT $limit
    RETURN collect(coalesce(up.name, up.value, up.id)) AS of_one
  }
  RETURN collect(of_one) AS kinds
}
CALL (asked) {
  CALL (asked) {
    CALL db.index.fulltext.queryNodes('entity_names', asked.query, {limit: $limit}) YIELD node
    RETURN node
  UNION
    MATCH (node:Entity)
    WHERE node.id IN asked.nouns
    RETURN node
  }
  WITH node
  WHERE any(number IN $numbers WHERE -number IN node.signature_relations)
  RETURN collect(coalesce(node.name, node.id)) AS known
}
RETURN kinds, known
ORDER BY question
