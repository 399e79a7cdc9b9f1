// A value that changes when a load begins, finishes or is deleted, single triples are changed, or relations are described:
// readers use it to check that their catalogue is current. Times are summed: after a clock was set back, the latest one
// says nothing of what came later.
// mode:    read
// params:
// returns: num_loads :: INTEGER, started :: STRING, finished :: STRING, num_relations :: INTEGER, described :: STRING,
//          num_changes :: INTEGER
// needs:   nothing
MATCH (l:Load)
WHERE l.sha256 IS NOT NULL
WITH count(l) AS num_loads, toString(sum(l.started.epochMillis)) AS started,
     toString(sum(l.finished.epochMillis)) AS finished, toString(sum(l.described.epochMillis)) AS described,
     sum(coalesce(l.changes, 0)) AS num_changes
RETURN num_loads, started, finished, COUNT { MATCH (:Relation) } AS num_relations, described, num_changes
