// Take the lock of loads, of which the graph has one. It is held until the transaction ends, and the database ends that
// when its client is gone. Rolled back, it leaves nothing in the graph.
// mode:    write
// params:
// returns: name :: STRING
// needs:   constraint load_lock
MERGE (l:LoadLock {name: 'load'})
SET l.held = true
RETURN l.name AS name
