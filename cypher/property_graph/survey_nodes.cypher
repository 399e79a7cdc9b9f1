// How many nodes of somebody else's graph have these labels and these properties. The order of
// labels and properties is the database's: equal ones may come in several rows.
// mode:    read
// params:
// returns: labels :: LIST<STRING>, keys :: LIST<STRING>, num :: INTEGER
// needs:   nothing
MATCH (n)
RETURN labels(n) AS labels, keys(n) AS keys, count(*) AS num
