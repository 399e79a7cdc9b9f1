// Places of those of the asked triples that the graph has, each looked for between its two ends. $asked has columns: ids,
// literals (whether the node is one); heads, relations, tails, of which heads and tails are places in ids.
// mode:    read
// params:  $asked :: MAP
// returns: place :: INTEGER
// needs:   constraint entity_id, constraint literal_id
WITH $asked AS asked
{{> triples_in_graph}}
RETURN place
