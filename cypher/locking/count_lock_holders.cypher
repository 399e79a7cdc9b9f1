// How many of the user's own transactions hold the lock of loads, or wait for it: those of loads and deletions under way.
// mode:    read
// params:
// returns: num_holders :: INTEGER
// needs:   nothing
SHOW TRANSACTIONS YIELD metaData
WHERE metaData.app = 'lodestar' AND metaData.query = 'hold_load_lock'
RETURN count(*) AS num_holders
