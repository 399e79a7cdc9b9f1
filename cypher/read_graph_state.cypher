// What the graph holds and lacks, from counts that are kept: no scan but over the catalogue and the manifests.
// mode:    read
// params:
// returns: indexes :: LIST<STRING>, num_entities :: INTEGER, catalogue :: LIST<INTEGER>, unfinished_loads :: LIST<STRING>
// needs:   nothing
SHOW INDEXES YIELD name, state
RETURN collect(CASE WHEN name IN ['entity_id', 'entity_names'] AND state = 'ONLINE' THEN name END) AS indexes,
       COUNT { MATCH (:Entity) } AS num_entities,
       COLLECT { MATCH (r:Relation) RETURN r.count } AS catalogue,
       COLLECT { MATCH (l:Load) WHERE l.finished IS NULL RETURN l.source } AS unfinished_loads
