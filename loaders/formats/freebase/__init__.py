"""The raw Freebase RDF dump."""
