"""Neo4j: the gateway, the requests, and the embedded server."""
