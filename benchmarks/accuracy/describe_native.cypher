// What nodes have, what relationships have, and what joins what in a property graph, as a language model is told of it.
CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName, propertyTypes
WHERE propertyName IS NOT NULL
WITH nodeLabels, collect({property: propertyName, type: toUpper(head(propertyTypes))}) AS properties
RETURN reduce(all = head(nodeLabels), label IN tail(nodeLabels) | all + ':' + label) AS name, properties
ORDER BY name;
CALL db.schema.relTypeProperties() YIELD relType, propertyName, propertyTypes
WHERE propertyName IS NOT NULL
RETURN replace(substring(relType, 1), '`', '') AS name,
       collect({property: propertyName, type: toUpper(head(propertyTypes))}) AS properties
ORDER BY name;
MATCH (a)-[r]->(b)
RETURN DISTINCT head(labels(a)) AS start, type(r) AS type, head(labels(b)) AS end
ORDER BY start, type, end
LIMIT 300
