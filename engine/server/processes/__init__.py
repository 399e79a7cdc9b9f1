"""The processes of Neo4j, and the machine they run on."""
