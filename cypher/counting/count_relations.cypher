// Count for every relationship type all relationships, those that leave an entity and those that enter an entity or a
// literal, from the counts that Neo4j keeps, without a scan.
// mode:    read
// params:
// returns: relation :: STRING, num_all :: INTEGER, num_leaving :: INTEGER, num_entering :: INTEGER
// needs:   nothing
CALL db.stats.retrieve('GRAPH COUNTS') YIELD data
UNWIND data.relationships AS kept
WITH kept WHERE kept.relationshipType IS NOT NULL
RETURN kept.relationshipType AS relation,
       sum(CASE WHEN kept.startLabel IS NULL AND kept.endLabel IS NULL THEN kept.count ELSE 0 END) AS num_all,
       sum(CASE WHEN kept.startLabel = 'Entity' THEN kept.count ELSE 0 END) AS num_leaving,
       sum(CASE WHEN kept.endLabel IN ['Entity', 'Literal'] THEN kept.count ELSE 0 END) AS num_entering
