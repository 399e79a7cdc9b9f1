// A property graph out of triples: an index for the ids, the nodes, the relationships, records between two nodes (an
// order's products with their quantity) as one relationship, and the ids taken off again.
CREATE INDEX triple_id IF NOT EXISTS FOR (n:Native) ON (n.triple_id);
UNWIND $rows AS row
CREATE (n:Native {triple_id: row.id})
SET n:$(row.labels), n += row.properties;
UNWIND $rows AS row
MATCH (a:Native {triple_id: row.start}), (b:Native {triple_id: row.end})
CREATE (a)-[:$(row.type)]->(b);
MATCH (a)-[to]->(record:Thing)-[from]->(b)
WHERE record.name IS NULL AND type(to) = type(from) AND COUNT { (record)--() } = 2
CREATE (a)-[joined:$(type(to))]->(b)
SET joined = properties(record)
REMOVE joined.triple_id
DETACH DELETE record;
MATCH (n:Native) REMOVE n:Native, n.triple_id
