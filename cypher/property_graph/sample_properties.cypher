// What the properties of some nodes with a label hold, by property and type of value: how many there are, how many of
// them differ, and how long the longest list and the average text are. Of a text its start counts.
// mode:    read
// params:  $limit :: INTEGER
// names:   LABEL
// returns: key :: STRING, type :: STRING, num :: INTEGER, num_distinct :: INTEGER, num_items :: INTEGER, num_chars :: FLOAT
// needs:   nothing
MATCH (n:{{LABEL}})
WITH n LIMIT $limit
UNWIND keys(n) AS key
WITH key, n[key] AS value
WITH key, valueType(value) AS type, CASE WHEN valueType(value) STARTS WITH 'LIST' THEN size(value) END AS num_items, toStringOrNull(value) AS text
RETURN key,
       type,
       count(*) AS num,
       count(DISTINCT left(text, 200)) AS num_distinct,
       max(num_items) AS num_items,
       avg(size(text)) AS num_chars
