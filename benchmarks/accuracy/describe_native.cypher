// What joins what in a property graph, as a language model is told of it.
MATCH (a)-[r]->(b)
RETURN DISTINCT head(labels(a)) AS start, type(r) AS type, head(labels(b)) AS end
ORDER BY start, type, end
LIMIT 300
