"""The embedded Neo4j: pinned jars, a home folder, a process of its own."""
