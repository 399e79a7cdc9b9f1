// What the graph holds and lacks, from counts that are kept: no scan but over the catalogue and the manifests. A load is
// [its source, whether it finished, whether it is being deleted, the version of the graph model it wrote].
// mode:    read
// params:
// returns: indexes :: LIST<STRING>, num_entities :: INTEGER, num_literals :: INTEGER, catalogue :: LIST<INTEGER>,
//          loads :: LIST<LIST<ANY>>
// needs:   nothing
SHOW INDEXES YIELD name, state
RETURN collect(CASE WHEN name IN ['entity_id', 'entity_names'] AND state = 'ONLINE' THEN name END) AS indexes,
       COUNT { MATCH (:Entity) } AS num_entities,
       COUNT { MATCH (:Literal) } AS num_literals,
       COLLECT { MATCH (r:Relation) RETURN r.count } AS catalogue,
       COLLECT {
         MATCH (l:Load)
         RETURN [l.source, l.finished IS NOT NULL, coalesce(l.deleting, false), coalesce(l.graph_version, 1)]
       } AS loads
