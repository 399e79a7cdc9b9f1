// Every triple with the loads that state it, in a total order: by head, relation, entities before literals, tail. The index
// provides the heads in order; only the triples of one head are sorted, and in memory, at a time. $ranks has the places of
// the catalogue's relations; others are not Lodestar's. A triple is [relation, tail, is_literal, datatype, language, loads];
// the tail is an entity's id or a literal's value.
// mode:    read
// params:  $ranks :: MAP, $chunk_size :: INTEGER
// returns: head :: STRING, triples :: LIST<LIST<ANY>>
// needs:   constraint entity_id
MATCH (h:Entity)-[r]->(t:Entity|Literal)
USING INDEX h:Entity(id)
WHERE h.id IS NOT NULL
WITH h.id AS head,
     CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS relation,
     t:Literal AS is_literal,
     coalesce(r.loads, [1]) AS loads,
     t
ORDER BY head, $ranks[relation], is_literal, t.id
WHERE $ranks[relation] IS NOT NULL
WITH head,
     collect([relation, CASE WHEN is_literal THEN t.value ELSE t.id END, is_literal, t.datatype, t.language, loads]) AS triples
UNWIND range(0, size(triples) - 1, $chunk_size) AS start
RETURN head, triples[start..start + $chunk_size] AS triples
ORDER BY head
