"""GRIL: a retriever that grows and prunes a subgraph by attention, and learns from its reader."""
