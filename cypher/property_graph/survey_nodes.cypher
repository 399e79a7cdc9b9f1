// How many nodes of somebody else's graph have these labels and these properties and meet the user's condition, the
// highest number in the element ids of all with them, and one of these ids. The order of labels and properties is the
// database's: equal ones may come in several rows.
// mode:    read
// params:
// names:   NODES
// returns: labels :: LIST<STRING>, keys :: LIST<STRING>, num :: INTEGER, last :: INTEGER, id :: STRING
// needs:   nothing
MATCH (n)
RETURN labels(n) AS labels,
       keys(n) AS keys,
       count(CASE WHEN ({{=NODES}}) THEN 1 END) AS num,
       max(toInteger(split(elementId(n), ':')[2])) AS last,
       min(elementId(n)) AS id
