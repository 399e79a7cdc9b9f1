"""Pages, pictures and Neo4j Browser."""
