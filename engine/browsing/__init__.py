"""Retrievals in Neo4j Browser."""
