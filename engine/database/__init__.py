"""The gateway to Neo4j: query templates, typed requests, and the drivers that run them."""
