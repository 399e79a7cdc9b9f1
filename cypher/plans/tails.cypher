// What a relation leads to.
MATCH (:Entity)-[r:{{TYPE}}]->(x:Entity|Literal)
WHERE type(r) <> 'RELATED' OR coalesce(r.relation, 'RELATED') = $relation
RETURN DISTINCT x, [] AS w, null AS by
