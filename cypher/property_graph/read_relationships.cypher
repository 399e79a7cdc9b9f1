// All relationships with the element ids of their ends, and their properties without the named ones.
// mode:    read
// params:  $without :: LIST<STRING>
// returns: id :: STRING, type :: STRING, start :: STRING, end :: STRING, properties :: LIST<LIST<ANY>>
// needs:   nothing
MATCH (s)-[r]->(t)
RETURN elementId(r) AS id,
       type(r) AS type,
       elementId(s) AS start,
       elementId(t) AS end,
       [key IN keys(r) WHERE NOT key IN $without | [key, r[key]]] AS properties
