// Every triple, or those that a load states, in a total order: by head, relation, entities before literals, tail. The
// index provides the heads in order; only the triples of one head are sorted, and in memory, at a time. Stored strings
// compare by code points, type names by UTF-16 units: $ranks has the order of the relations where that differs. A triple
// is [relation, tail], or [relation, value, datatype, language] if its tail is a literal.
// mode:    read
// params:  $load :: INTEGER, $ranks :: MAP, $chunk_size :: INTEGER
// returns: head :: STRING, triples :: LIST<LIST<STRING>>
// needs:   constraint entity_id
MATCH (h:Entity)-[r]->(t:Entity|Literal)
USING INDEX h:Entity(id)
WHERE h.id IS NOT NULL AND ($load IS NULL OR $load IN coalesce(r.loads, [1]))
WITH h.id AS head,
     CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS relation,
     t:Literal AS is_literal,
     t.id AS tail,
     t
ORDER BY head, $ranks[relation], relation, is_literal, tail
WITH head,
     collect(CASE WHEN is_literal THEN [relation, t.value, t.datatype, t.language] ELSE [relation, tail] END) AS triples
UNWIND range(0, size(triples) - 1, $chunk_size) AS start
RETURN head, triples[start..start + $chunk_size] AS triples
ORDER BY head
