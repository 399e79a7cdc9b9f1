// How many relationships of somebody else's graph have this type and these properties. The order of properties is the
// database's: equal ones may come in several rows.
// mode:    read
// params:
// returns: type :: STRING, keys :: LIST<STRING>, num :: INTEGER
// needs:   nothing
MATCH ()-[r]->()
RETURN type(r) AS type, keys(r) AS keys, count(*) AS num
