// One step from hubs over one relation, walked from tail to head, bounded per hub. The relation stands in the text: only so
// does Neo4j go to its relationships without looking at all the others of a hub. Otherwise as expand_steps.
// mode:    read
// params:  $sources :: LIST<STRING>, $fan_out :: INTEGER, $signatures :: INTEGER, $last :: BOOLEAN
// names:   RELATION
// returns: source :: STRING, tails :: LIST<LIST<ANY>>, signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
UNWIND $sources AS source
MATCH (e:Entity {id: source})
CALL (e) {
  MATCH (e)<-[:{{RELATION}}]-(t:Entity)
  RETURN t LIMIT $fan_out + 1
}
WITH source, collect(t) AS tails
RETURN source,
       [t IN tails | [t.id, t.name, t.degree, false]] AS tails,
       [t IN tails[..$signatures] |
        CASE WHEN $last AND t.name IS NOT NULL THEN null ELSE t.signature_relations END] AS signatures
