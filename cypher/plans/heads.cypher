// What some relations lead from.
MATCH (x:Entity)-[r:{{TYPES}}]->(:Entity|Literal)
WHERE type(r) <> 'RELATED' OR coalesce(r.relation, 'RELATED') IN $relations
RETURN DISTINCT x, [] AS w, null AS by
