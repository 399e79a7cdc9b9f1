// The nodes with these numbers in their element ids, with their labels, and their properties without the named ones.
// mode:    read
// params:  $prefix :: STRING, $first :: INTEGER, $last :: INTEGER, $without :: LIST<STRING>
// returns: id :: STRING, labels :: LIST<STRING>, properties :: LIST<LIST<ANY>>
// needs:   nothing
MATCH (n)
WHERE elementId(n) IN [number IN range($first, $last) | $prefix + toString(number)]
RETURN elementId(n) AS id, labels(n) AS labels, [key IN keys(n) WHERE NOT key IN $without | [key, n[key]]] AS properties
