// Expand each source by one step over its chosen relation, for a whole batch of beams, bounded per source and per
// expansion. Sources have a moderate degree, since every relationship of a source is visited; expand_hub_step is for
// hubs. One tail more than a bound is read, so that the caller sees that it cut something. A tail is [id, name, degree,
// whether it is a literal]; a literal's name is its value. The first `signatures` tails of a source come with their
// relation signatures, which propose the next step; when `last`, only unnamed ones. A property, read only for the type
// RELATED, distinguishes relations that share it.
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
