"""Read source formats, one per file."""
