// Whether the transaction with this token waits for a lock that another one holds.
// mode:    read
// params:  $token :: STRING
// returns: is_blocked :: BOOLEAN
// needs:   nothing
SHOW TRANSACTIONS YIELD metaData, status
WHERE metaData.token = $token
RETURN status STARTS WITH 'Blocked' AS is_blocked
