// How many relationships of somebody else's graph have this type and these properties, the highest number in their
// element ids, and one of these ids. The order of properties is the database's: equal ones may come in several rows.
// mode:    read
// params:
// returns: type :: STRING, keys :: LIST<STRING>, num :: INTEGER, last :: INTEGER, id :: STRING
// needs:   nothing
MATCH ()-[r]->()
RETURN type(r) AS type,
       keys(r) AS keys,
       count(*) AS num,
       max(toInteger(split(elementId(r), ':')[2])) AS last,
       min(elementId(r)) AS id
