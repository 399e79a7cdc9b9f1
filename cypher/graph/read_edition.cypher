// What differs after a load began, finished or was deleted, or relations were described: by it a reader knows that its
// catalogue is the present one.
// mode:    read
// params:
// returns: num_loads :: INTEGER, started :: STRING, finished :: STRING, num_relations :: INTEGER, described :: STRING
// needs:   nothing
MATCH (l:Load)
WHERE l.sha256 IS NOT NULL
WITH count(l) AS num_loads, toString(max(l.started)) AS started, toString(max(l.finished)) AS finished,
     toString(max(l.described)) AS described
RETURN num_loads, started, finished, COUNT { MATCH (:Relation) } AS num_relations, described
