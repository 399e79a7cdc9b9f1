// One step of a path, with the arrow.
MATCH (e)-[r]->(t:Entity|Literal)
WHERE type(r) = $type AND ($type <> 'RELATED' OR coalesce(r.relation, 'RELATED') = $relation)
WITH t AS e, head(collect(v + [r])) AS v
