"""GRIL: a retriever that grows and prunes a subgraph by attention, trained jointly with its reader."""
