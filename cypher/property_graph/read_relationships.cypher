// All relationships with the element ids of their ends, and their properties without longer lists of other values than
// texts, such as vectors.
// mode:    read
// params:  $most :: INTEGER
// returns: id :: STRING, type :: STRING, start :: STRING, end :: STRING, properties :: LIST<LIST<ANY>>
// needs:   nothing
MATCH (s)-[r]->(t)
RETURN elementId(r) AS id,
       type(r) AS type,
       elementId(s) AS start,
       elementId(t) AS end,
       [key IN keys(r) WHERE CASE WHEN valueType(r[key]) STARTS WITH 'LIST' THEN size(r[key]) <= $most OR valueType(r[key]) CONTAINS 'STRING' ELSE true END | [key, r[key]]] AS properties
