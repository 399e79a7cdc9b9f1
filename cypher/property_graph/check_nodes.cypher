// Planned, never run: what the user says of nodes `n` must be one condition. In brackets of both kinds, since what closes
// one and opens another would be more than that.
// mode:    read
// params:
// names:   NODES
// returns: met :: LIST<BOOLEAN>
// needs:   nothing
MATCH (n)
WHERE ({{=NODES}})
RETURN [{{=NODES}}] AS met
