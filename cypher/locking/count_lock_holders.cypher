// Count the user's own transactions that hold the load lock or wait for it: running loads and deletions.
// mode:    read
// params:
// returns: num_holders :: INTEGER
// needs:   nothing
SHOW TRANSACTIONS YIELD metaData
WHERE metaData.app = 'lodestar' AND metaData.query = 'hold_load_lock'
RETURN count(*) AS num_holders
