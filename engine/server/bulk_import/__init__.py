"""A graph from CSV files by Neo4j's own importer."""
