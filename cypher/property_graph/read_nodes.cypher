// The nodes with these numbers in their element ids, with their labels, whether they meet the user's condition, and
// their properties without the named ones. The condition is a value and no predicate, so that a page stays a seek.
// mode:    read
// params:  $prefix :: STRING, $first :: INTEGER, $last :: INTEGER, $without :: LIST<STRING>
// names:   NODES
// returns: id :: STRING, labels :: LIST<STRING>, is_within :: BOOLEAN, properties :: LIST<LIST<ANY>>
// needs:   nothing
MATCH (n)
WHERE elementId(n) IN [number IN range($first, $last) | $prefix + toString(number)]
WITH n, CASE WHEN ({{=NODES}}) THEN true ELSE false END AS is_within
RETURN elementId(n) AS id,
       labels(n) AS labels,
       is_within,
       [key IN keys(n) WHERE is_within AND NOT key IN $without | [key, n[key]]] AS properties
