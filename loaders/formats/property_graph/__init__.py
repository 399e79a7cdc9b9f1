"""Read a property graph out of a Neo4j that is already there, and say what becomes of what is in it."""
