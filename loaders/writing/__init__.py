"""A stage into a graph: through a running Neo4j, or by its offline importer."""
