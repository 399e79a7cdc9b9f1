// The commands that Neo4j Browser runs after each connection, from the server's configuration.
// mode:    read
// params:
// returns: command :: STRING
// needs:   nothing
CALL dbms.clientConfig() YIELD name, value
WHERE name = 'browser.post_connect_cmd'
RETURN value AS command
