// All nodes with their labels, and their properties without the named ones.
// mode:    read
// params:  $without :: LIST<STRING>
// returns: id :: STRING, labels :: LIST<STRING>, properties :: LIST<LIST<ANY>>
// needs:   nothing
MATCH (n)
RETURN elementId(n) AS id, labels(n) AS labels, [key IN keys(n) WHERE NOT key IN $without | [key, n[key]]] AS properties
