// The first triples of one relation that leave hubs or, $inverse, enter them, in store order. The relationship type is in
// the query text, because only then Neo4j reads its relationships without visiting all others of a hub. $relation
// distinguishes relations that share the type RELATED, and is null for a type of its own. A code is: place of the hub in
// $hubs · $limit + position. Otherwise as read_neighbours.
// mode:    read
// params:  $hubs :: LIST<STRING>, $relation :: STRING, $inverse :: BOOLEAN, $limit :: INTEGER, $last :: BOOLEAN,
//          $value_chars :: INTEGER
// names:   RELATION
// returns: ids :: LIST<STRING>, names :: LIST<STRING>, literals :: LIST<STRING>, codes :: LIST<LIST<INTEGER>>,
//          signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
UNWIND range(0, size($hubs) - 1) AS place
MATCH (e:Entity {id: $hubs[place]})
CALL (e) {
  WITH e WHERE NOT $inverse
  MATCH (e)-[r:{{RELATION}}]->(t:Entity|Literal)
  WHERE $relation IS NULL OR coalesce(r.relation, 'RELATED') = $relation
  RETURN t LIMIT $limit
UNION ALL
  WITH e WHERE $inverse
  MATCH (e)<-[r:{{RELATION}}]-(t:Entity)
  WHERE $relation IS NULL OR coalesce(r.relation, 'RELATED') = $relation
  RETURN t LIMIT $limit
}
WITH place, collect(t) AS found
UNWIND range(0, size(found) - 1) AS position
WITH found[position] AS t, place * $limit + position AS code
WITH t, collect(code) AS codes
WITH collect(t) AS neighbours, collect(codes) AS codes
RETURN [t IN neighbours | t.id] AS ids,
       [t IN neighbours | CASE
          WHEN NOT t:Literal THEN t.name
          WHEN size(t.value) <= $value_chars THEN t.value
          ELSE left(t.value, $value_chars) + '…'
        END] AS names,
       [t IN neighbours WHERE t:Literal | t.id] AS literals,
       codes,
       [t IN neighbours |
        CASE WHEN $last AND t.name IS NOT NULL THEN null ELSE t.signature_relations + t.signature_counts END] AS signatures
