// What a relation leads from.
MATCH (x:Entity)-[r:{{TYPE}}]->(:Entity|Literal)
WHERE type(r) <> 'RELATED' OR coalesce(r.relation, 'RELATED') = $relation
RETURN DISTINCT x, [] AS w, null AS by
