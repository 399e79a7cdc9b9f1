// One step from hubs over one of the relations that share the type RELATED, walked from tail to head, bounded per hub.
// All relationships of that type at the hub are looked at, until enough are found. Otherwise as expand_steps.
// mode:    read
// params:  $sources :: LIST<STRING>, $relation :: STRING, $fan_out :: INTEGER, $signatures :: INTEGER, $last :: BOOLEAN
// returns: source :: STRING, tails :: LIST<LIST<ANY>>, signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
UNWIND $sources AS source
MATCH (e:Entity {id: source})
CALL (e) {
  MATCH (e)<-[r:RELATED]-(t:Entity)
  WHERE coalesce(r.relation, 'RELATED') = $relation
  RETURN t LIMIT $fan_out + 1
}
WITH source, collect(t) AS tails
RETURN source,
       [t IN tails | [t.id, t.name, t.degree, false]] AS tails,
       [t IN tails[..$signatures] |
        CASE WHEN $last AND t.name IS NOT NULL THEN null ELSE t.signature_relations END] AS signatures
