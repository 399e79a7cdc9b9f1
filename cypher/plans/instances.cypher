// The things of some types.
CALL () {
MATCH (t:Entity)
WHERE t.id IN $ids
RETURN t
UNION
MATCH (t:Literal)
WHERE t.id IN $ids
RETURN t
}
MATCH (x:Entity)-[r:{{TYPES}}]->(t)
WHERE type(r) <> 'RELATED' OR coalesce(r.relation, 'RELATED') IN $relations
RETURN x, head(collect([r])) AS w, null AS by
