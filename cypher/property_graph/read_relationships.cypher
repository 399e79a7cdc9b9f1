// The relationships with these numbers in their element ids, with the element ids of their ends, whether both have one
// of these labels (null: any) and all three meet the user's conditions, and their properties without the named ones.
// mode:    read
// params:  $prefix :: STRING, $first :: INTEGER, $last :: INTEGER, $labels :: LIST<STRING>, $without :: LIST<STRING>
// names:   NODES, RELATIONSHIPS
// returns: id :: STRING, type :: STRING, start :: STRING, end :: STRING, is_within :: BOOLEAN, properties :: LIST<LIST<ANY>>
// needs:   nothing
MATCH (s)-[r]->(t)
WHERE elementId(r) IN [number IN range($first, $last) | $prefix + toString(number)]
WITH s, r, t,
     CASE
       WHEN ($labels IS NULL OR all(n IN [s, t] WHERE any(label IN labels(n) WHERE label IN $labels)))
         AND all(n IN [s, t] WHERE ({{=NODES}}))
         AND ({{=RELATIONSHIPS}}) THEN true
       ELSE false
     END AS is_within
RETURN elementId(r) AS id,
       type(r) AS type,
       elementId(s) AS start,
       elementId(t) AS end,
       is_within,
       [key IN keys(r) WHERE is_within AND NOT key IN $without | [key, r[key]]] AS properties
