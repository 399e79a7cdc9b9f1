// One step from hubs over one relation, walked from head to tail, bounded per hub. Its type stands in the text: only so does
// Neo4j go to its relationships without looking at all the others of a hub. Where relations share the type RELATED,
// `relation` tells which is meant, and all of that type are looked at until enough are found; it is null elsewhere.
// Otherwise as expand_steps.
// mode:    read
// params:  $sources :: LIST<STRING>, $relation :: STRING, $fan_out :: INTEGER, $signatures :: INTEGER, $last :: BOOLEAN,
//          $value_chars :: INTEGER
// names:   RELATION
// returns: source :: STRING, tails :: LIST<LIST<ANY>>, signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
UNWIND $sources AS source
MATCH (e:Entity {id: source})
CALL (e) {
  MATCH (e)-[r:{{RELATION}}]->(t:Entity|Literal)
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
