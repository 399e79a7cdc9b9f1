// A passage for each node: written with its vector, indexed, read from the graph, deleted.
UNWIND $rows AS row
CREATE (p:Passage {text: row.text})
WITH p, row
CALL db.create.setNodeVectorProperty(p, 'vector', row.vector);
CREATE VECTOR INDEX passages IF NOT EXISTS FOR (p:Passage) ON (p.vector)
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'cosine'}};
MATCH (n) WHERE NOT n:Passage
OPTIONAL MATCH (n)-[r]-(m)
WITH n, collect(DISTINCT type(r) + ' ' + coalesce(m.name, m.title, ''))[..20] AS joins
RETURN head(labels(n)) + ': ' + reduce(text = '', key IN keys(n) | text + key + reduce(all = '', one IN [] + n[key] | all + ' ' + toString(one)) + '; ') +
       reduce(text = '', join IN joins | text + join + '; ') AS text;
MATCH (p:Passage) DELETE p
