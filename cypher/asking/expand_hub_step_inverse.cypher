// One step from hubs over one relation, walked from tail to head, bounded per hub. Its type stands in the text: only so does
// Neo4j go to its relationships without looking at all the others of a hub. Where relations share the type RELATED,
// `relation` tells which is meant, and all of that type are looked at until enough are found; it is null elsewhere.
// Otherwise as expand_steps.
// mode:    read
// params:  $sources :: LIST<STRING>, $relation :: STRING, $fan_out :: INTEGER, $signatures :: INTEGER, $last :: BOOLEAN
// names:   RELATION
// returns: source :: STRING, tails :: LIST<LIST<ANY>>, signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
UNWIND $sources AS source
MATCH (e:Entity {id: source})
CALL (e) {
  MATCH (e)<-[r:{{RELATION}}]-(t:Entity)
  WHERE $relation IS NULL OR coalesce(r.relation, 'RELATED') = $relation
  RETURN t LIMIT $fan_out + 1
}
WITH source, collect(t) AS tails
RETURN source,
       [t IN tails | [t.id, t.name, t.degree, false]] AS tails,
       [t IN tails[..$signatures] |
        CASE WHEN $last AND t.name IS NOT NULL THEN null ELSE t.signature_relations END] AS signatures
