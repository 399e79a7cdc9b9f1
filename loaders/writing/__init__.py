"""Write a stage into a graph: through a running Neo4j, or with its offline importer."""
