"""The jars of Neo4j: which, fetched, checked and kept."""
