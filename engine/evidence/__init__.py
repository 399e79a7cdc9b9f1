"""Evidence: the triples and chains that stages pass on, and how they are written down."""
