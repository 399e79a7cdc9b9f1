// The manifest of a load, by the hash of its content.
// mode:    read
// params:  $sha256 :: STRING
// returns: num_triples :: INTEGER, num_entities :: INTEGER, num_relations :: INTEGER, num_duplicates :: INTEGER,
//          finished :: BOOLEAN, graph_version :: INTEGER
// needs:   nothing
MATCH (l:Load {sha256: $sha256})
RETURN l.num_triples AS num_triples,
       l.num_entities AS num_entities,
       l.num_relations AS num_relations,
       l.num_duplicates AS num_duplicates,
       l.finished IS NOT NULL AS finished,
       l.graph_version AS graph_version
