// A value that changes when a load begins, finishes or is deleted, single triples are changed, or relations are described:
// readers use it to check that their catalogue is current.
// mode:    read
// params:
// returns: num_loads :: INTEGER, started :: STRING, finished :: STRING, num_relations :: INTEGER, described :: STRING,
//          num_changes :: INTEGER
// needs:   nothing
MATCH (l:Load)
WHERE l.sha256 IS NOT NULL
WITH count(l) AS num_loads, toString(max(l.started)) AS started, toString(max(l.finished)) AS finished,
     toString(max(l.described)) AS described, sum(coalesce(l.changes, 0)) AS num_changes
RETURN num_loads, started, finished, COUNT { MATCH (:Relation) } AS num_relations, described, num_changes
