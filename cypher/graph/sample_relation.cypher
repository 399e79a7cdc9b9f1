// Triples of a relation, the first by the ids of their ends among $among: names of both ends, and the relations at them.
// mode:    read
// params:  $limit :: INTEGER, $relation :: STRING, $max_relations :: INTEGER, $among :: INTEGER
// names:   RELATION
// returns: head :: STRING, head_signature :: LIST<INTEGER>, tail :: STRING, tail_signature :: LIST<INTEGER>,
//          is_value :: BOOLEAN
// needs:   nothing
MATCH (h:Entity)-[t:{{RELATION}}]->(e)
WHERE coalesce(t.relation, type(t)) = $relation
WITH h, e
LIMIT $among
WITH h, e
ORDER BY h.id, e.id
LIMIT $limit
RETURN left(coalesce(h.name, ''), 200) AS head,
       coalesce(h.signature_relations, [])[..$max_relations] AS head_signature,
       left(coalesce(e.name, e.value, ''), 200) AS tail,
       coalesce(e.signature_relations, [])[..$max_relations] AS tail_signature,
       e:Literal AS is_value
