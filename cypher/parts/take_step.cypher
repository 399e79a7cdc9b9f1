// The node that this step of the path leads to from e; e itself if the path has no such step.
WITH steps, at, e WHERE at >= size(steps)
RETURN e AS t
UNION
WITH steps[at] AS step, e WHERE NOT steps[at].inverse
MATCH (e)-[r]->(t:Entity|Literal)
WHERE type(r) = step.type AND (step.type <> 'RELATED' OR coalesce(r.relation, 'RELATED') = step.relation)
RETURN t LIMIT $max_ends
UNION
WITH steps[at] AS step, e WHERE steps[at].inverse
MATCH (e)<-[r]-(t:Entity)
WHERE type(r) = step.type AND (step.type <> 'RELATED' OR coalesce(r.relation, 'RELATED') = step.relation)
RETURN t LIMIT $max_ends
