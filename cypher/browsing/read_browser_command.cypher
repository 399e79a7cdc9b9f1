// The commands that the server lets Neo4j Browser run after each connection, as its configuration has them.
// mode:    read
// params:
// returns: command :: STRING
// needs:   nothing
CALL dbms.clientConfig() YIELD name, value
WHERE name = 'browser.post_connect_cmd'
RETURN value AS command
