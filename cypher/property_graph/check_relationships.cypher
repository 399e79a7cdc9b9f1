// Planned, never run: what the user says of relationships `r` from `s` to `t` must be one condition.
// mode:    read
// params:
// names:   RELATIONSHIPS
// returns: met :: LIST<BOOLEAN>
// needs:   nothing
MATCH (s)-[r]->(t)
WHERE ({{=RELATIONSHIPS}})
RETURN [{{=RELATIONSHIPS}}] AS met
