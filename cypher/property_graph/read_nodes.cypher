// All nodes with their labels, and their properties without longer lists of other values than texts, such as vectors.
// mode:    read
// params:  $most :: INTEGER
// returns: id :: STRING, labels :: LIST<STRING>, properties :: LIST<LIST<ANY>>
// needs:   nothing
MATCH (n)
RETURN elementId(n) AS id, labels(n) AS labels, [key IN keys(n) WHERE CASE WHEN valueType(n[key]) STARTS WITH 'LIST' THEN size(n[key]) <= $most OR valueType(n[key]) CONTAINS 'STRING' ELSE true END | [key, n[key]]] AS properties
