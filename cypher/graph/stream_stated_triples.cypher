// Every triple with the loads that state it, by head. The index provides the heads in order, so that the triples of only
// one head are in memory at a time. Relations that are not in $numbers, those of the catalogue, are not Lodestar's. A
// triple is [relation, tail, is_literal, datatype, language, loads]; the tail is an entity's id or a literal's value.
// mode:    read
// params:  $numbers :: MAP, $chunk_size :: INTEGER
// returns: head :: STRING, triples :: LIST<LIST<ANY>>
// needs:   constraint entity_id
MATCH (h:Entity)-[r]->(t:Entity|Literal)
USING INDEX h:Entity(id)
WHERE h.id IS NOT NULL
WITH h.id AS head,
     CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS relation,
     coalesce(r.loads, [1]) AS loads,
     t
ORDER BY head
WHERE $numbers[relation] IS NOT NULL
WITH head,
     collect([relation, CASE WHEN t:Literal THEN t.value ELSE t.id END, t:Literal, t.datatype, t.language, loads]) AS triples
UNWIND range(0, size(triples) - 1, $chunk_size) AS start
RETURN head, triples[start..start + $chunk_size] AS triples
