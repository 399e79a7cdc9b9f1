// Expand literals by one inverse step (tail to head) to the entities that have them; otherwise as expand_steps. The first
// $max_triples triples of a literal are visited, whatever their relations.
// mode:    read
// params:  $expansions :: LIST<MAP>, $fan_out :: INTEGER, $max_tails :: INTEGER, $max_triples :: INTEGER
// returns: expansion :: INTEGER, source :: STRING, tails :: LIST<LIST<ANY>>, signatures :: LIST<LIST<INTEGER>>
// needs:   constraint literal_id
UNWIND $expansions AS x
CALL (x) {
  UNWIND x.sources AS source
  MATCH (l:Literal {id: source})
  CALL (x, l) {
    MATCH (l)<-[r]-(t:Entity)
    WITH x, r, t LIMIT $max_triples
    WHERE type(r) = x.type AND (x.type <> 'RELATED' OR coalesce(r.relation, 'RELATED') = x.relation)
    RETURN t LIMIT $fan_out + 1
  }
  RETURN source, t LIMIT $max_tails + 1
}
WITH x, source, collect(t) AS tails
RETURN x.key AS expansion,
       source,
       [t IN tails | [t.id, t.name, t.degree, false]] AS tails,
       [t IN tails[..x.signatures] |
        CASE WHEN x.last AND t.name IS NOT NULL THEN null ELSE t.signature_relations END] AS signatures
