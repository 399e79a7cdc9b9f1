// The state of the graph, from stored counts: it scans only the catalogue, the manifests and pictures. A load is [its
// source, whether it finished, whether it is being deleted, the version of the graph model it wrote]. Indexes are
// identified by what they cover; by name if queries use the name.
// mode:    read
// params:
// returns: indexes :: LIST<STRING>, num_entities :: INTEGER, num_literals :: INTEGER, catalogue :: LIST<INTEGER>,
//          loads :: LIST<LIST<ANY>>, num_nodes :: INTEGER, num_pictured :: INTEGER
// needs:   nothing
SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties, owningConstraint
RETURN collect(CASE
         WHEN state <> 'ONLINE' OR labelsOrTypes <> ['Entity'] THEN null
         WHEN properties = ['id'] AND owningConstraint IS NOT NULL THEN 'entity_id'
         WHEN name = 'entity_names' AND properties = ['search_names'] AND type = 'FULLTEXT' THEN 'entity_names'
       END) AS indexes,
       COUNT { MATCH (:Entity) } AS num_entities,
       COUNT { MATCH (:Literal) } AS num_literals,
       COLLECT {
         MATCH (r:Relation)
         WHERE r.number IS NOT NULL
         RETURN r.count
       } AS catalogue,
       COLLECT {
         MATCH (l:Load)
         WHERE l.sha256 IS NOT NULL
         RETURN [l.source, l.finished IS NOT NULL, coalesce(l.deleting, false), l.graph_version]
       } AS loads,
       COUNT { MATCH () } AS num_nodes,
       COUNT {
         MATCH (:LodestarQuestion|LodestarPath|LodestarTopic|LodestarInner|LodestarEnd|LodestarRest)
       } AS num_pictured
