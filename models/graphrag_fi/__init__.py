"""GraphRAG-FI (filtering and integration): the formulas, free of any model, prompt or graph."""
