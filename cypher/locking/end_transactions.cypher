// End the transactions with this token: those that still wait for a lock after their client has given up.
// mode:    write
// params:  $token :: STRING
// returns: message :: STRING
// needs:   nothing
SHOW TRANSACTIONS YIELD transactionId AS id, metaData
WHERE metaData.token = $token
TERMINATE TRANSACTIONS id YIELD message
RETURN message
