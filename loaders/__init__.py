"""Loaders: one file per source format, and the writer that puts a source into the graph."""
