// Some triples of an entity, in store order: of these relations, those that leave it if $leaving, those that enter it if
// $entering. The relationship types are in the query text, because only then Neo4j reads them without visiting all others
// of a hub; $relations distinguishes those that share the type RELATED.
// mode:    read
// params:  $id :: STRING, $relations :: LIST<STRING>, $leaving :: BOOLEAN, $entering :: BOOLEAN, $offset :: INTEGER,
//          $limit :: INTEGER, $value_chars :: INTEGER
// names:   RELATION
// returns: relation :: STRING, leaves :: BOOLEAN, id :: STRING, name :: STRING, is_literal :: BOOLEAN
// needs:   constraint entity_id
MATCH (e:Entity {id: $id})
CALL (e) {
  WITH e WHERE $leaving
  MATCH (e)-[r:{{RELATION}}]->(t:Entity|Literal)
  RETURN r, t, true AS leaves
UNION ALL
  WITH e WHERE $entering
  MATCH (e)<-[r:{{RELATION}}]-(t:Entity)
  RETURN r, t, false AS leaves
}
WITH CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS relation, leaves, t
WHERE relation IN $relations
SKIP $offset
LIMIT $limit
RETURN relation,
       leaves,
       t.id AS id,
       CASE
         WHEN NOT t:Literal THEN t.name
         WHEN size(t.value) <= $value_chars THEN t.value
         ELSE left(t.value, $value_chars) + '…'
       END AS name,
       t:Literal AS is_literal
