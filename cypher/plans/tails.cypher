// What some relations lead to.
MATCH (:Entity)-[r:{{TYPES}}]->(x:Entity|Literal)
WHERE type(r) <> 'RELATED' OR coalesce(r.relation, 'RELATED') IN $relations
RETURN DISTINCT x, [] AS w, null AS by
