"""Every query, one .cypher file each; `lodestar.engine.neo4j` reads them."""
