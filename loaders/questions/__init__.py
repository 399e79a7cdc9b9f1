"""Read question sets; their content tells the format."""
