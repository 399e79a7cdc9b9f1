// Delete the node of the load lock, in the transaction that holds it: what else it wrote can then be committed.
// mode:    write
// params:
// returns:
// needs:   constraint load_lock
MATCH (l:LoadLock {name: 'load'})
DELETE l
