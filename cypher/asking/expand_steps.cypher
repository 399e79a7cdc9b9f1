// One step from each source over its chosen relation, for a whole batch of beams, bounded per source and per
// expansion. Sources are entities of moderate degree only, since every relationship of a source is looked at; hubs
// have expand_hub_step. One more tail than a bound is read, so that the caller can tell that it cut something.
// A tail is [id, name, degree, whether it is a literal]; of a literal the name is its value. The first `signatures`
// tails of a source come with their relation signatures, from which the next step is proposed; when `last`, only
// unnamed ones. Relations that share the type RELATED are told apart by a property, looked at for that type only.
// mode:    read
// params:  $expansions :: LIST<MAP>, $fan_out :: INTEGER, $max_tails :: INTEGER, $value_chars :: INTEGER
// returns: expansion :: INTEGER, source :: STRING, tails :: LIST<LIST<ANY>>, signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
UNWIND $expansions AS x
CALL (x) {
  UNWIND x.sources AS source
  MATCH (e:Entity {id: source})
  CALL (x, e) {
    WITH x, e WHERE NOT x.inverse
    MATCH (e)-[r]->(t:Entity|Literal)
    WHERE type(r) = x.type AND (x.type <> 'RELATED' OR coalesce(r.relation, 'RELATED') = x.relation)
    RETURN t LIMIT $fan_out + 1
  UNION ALL
    WITH x, e WHERE x.inverse
    MATCH (e)<-[r]-(t:Entity)
    WHERE type(r) = x.type AND (x.type <> 'RELATED' OR coalesce(r.relation, 'RELATED') = x.relation)
    RETURN t LIMIT $fan_out + 1
  }
  RETURN source, t LIMIT $max_tails + 1
}
WITH x, source, collect(t) AS tails
RETURN x.key AS expansion,
       source,
       [t IN tails | CASE
          WHEN NOT t:Literal THEN [t.id, t.name, t.degree, false]
          WHEN size(t.value) <= $value_chars THEN [t.id, t.value, 0, true]
          ELSE [t.id, left(t.value, $value_chars) + '…', 0, true]
        END] AS tails,
       [t IN tails[..x.signatures] |
        CASE WHEN x.last AND t.name IS NOT NULL THEN null ELSE t.signature_relations END] AS signatures
