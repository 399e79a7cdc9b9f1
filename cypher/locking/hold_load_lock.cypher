// Take the graph's only load lock. It is held until the transaction ends, and the database ends the transaction when its
// client has gone. A rollback leaves nothing in the graph.
// mode:    write
// params:
// returns: name :: STRING
// needs:   constraint load_lock
MERGE (l:LoadLock {name: 'load'})
SET l.held = true
RETURN l.name AS name
