// How many relationships of somebody else's graph have this type and these properties and meet the user's conditions, as
// both ends do, the highest number in the element ids of all with them, and one of these ids. The order of properties is
// the database's: equal ones may come in several rows.
// mode:    read
// params:
// names:   NODES, RELATIONSHIPS
// returns: type :: STRING, keys :: LIST<STRING>, num :: INTEGER, last :: INTEGER, id :: STRING
// needs:   nothing
MATCH (s)-[r]->(t)
RETURN type(r) AS type,
       keys(r) AS keys,
       count(CASE WHEN ({{=RELATIONSHIPS}}) AND all(n IN [s, t] WHERE ({{=NODES}})) THEN 1 END) AS num,
       max(toInteger(split(elementId(r), ':')[2])) AS last,
       min(elementId(r)) AS id
