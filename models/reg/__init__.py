"""ReG@Triple: a small network that scores the triples of a question's subgraph."""
