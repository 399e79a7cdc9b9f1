// Expand hubs by one step over one relation, from head to tail or, $inverse, from tail to head, bounded per hub. The
// relationship type is in the query text, because only then Neo4j reads its relationships without visiting all others of
// a hub. For relations that share the type RELATED, `relation` selects one, and all of that type are visited until enough
// are found; otherwise it is null. Otherwise as expand_steps.
// mode:    read
// params:  $sources :: LIST<STRING>, $relation :: STRING, $inverse :: BOOLEAN, $fan_out :: INTEGER,
//          $signatures :: INTEGER, $last :: BOOLEAN, $value_chars :: INTEGER
// names:   RELATION
// returns: source :: STRING, tails :: LIST<LIST<ANY>>, signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
UNWIND $sources AS source
MATCH (e:Entity {id: source})
CALL (e) {
  WITH e WHERE NOT $inverse
  MATCH (e)-[r:{{RELATION}}]->(t:Entity|Literal)
  WHERE $relation IS NULL OR coalesce(r.relation, 'RELATED') = $relation
  RETURN t LIMIT $fan_out + 1
UNION ALL
  WITH e WHERE $inverse
  MATCH (e)<-[r:{{RELATION}}]-(t:Entity)
  WHERE $relation IS NULL OR coalesce(r.relation, 'RELATED') = $relation
  RETURN t LIMIT $fan_out + 1
}
WITH source, collect(t) AS tails
RETURN source,
       [t IN tails | CASE
          WHEN NOT t:Literal THEN [t.id, t.name, t.degree, false]
          WHEN size(t.value) <= $value_chars THEN [t.id, t.value, 0, true]
          ELSE [t.id, left(t.value, $value_chars) + '…', 0, true]
        END] AS tails,
       [t IN tails[..$signatures] |
        CASE WHEN $last AND t.name IS NOT NULL THEN null ELSE t.signature_relations END] AS signatures
