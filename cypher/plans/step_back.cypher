// One step of a path, against the arrow.
MATCH (e)<-[r]-(t:Entity)
WHERE type(r) = $type AND ($type <> 'RELATED' OR coalesce(r.relation, 'RELATED') = $relation)
WITH t AS e, head(collect(v + [r])) AS v
