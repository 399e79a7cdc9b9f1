// One step from hubs over one of the relations that share the type RELATED, walked from head to tail, bounded per hub.
// All relationships of that type at the hub are looked at, until enough are found. Otherwise as expand_steps.
// mode:    read
// params:  $sources :: LIST<STRING>, $relation :: STRING, $fan_out :: INTEGER, $signatures :: INTEGER, $last :: BOOLEAN,
//          $value_chars :: INTEGER
// returns: source :: STRING, tails :: LIST<LIST<ANY>>, signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
UNWIND $sources AS source
MATCH (e:Entity {id: source})
CALL (e) {
  MATCH (e)-[r:RELATED]->(t:Entity|Literal)
  WHERE coalesce(r.relation, 'RELATED') = $relation
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
