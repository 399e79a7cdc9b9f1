"""A knowledge graph from text: documents cut into snippets, the concepts of each snippet, and what they share."""
