"""Loaders: one file per source format, and the writers that put triples into Neo4j."""
