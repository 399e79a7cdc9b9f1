"""Read files as bytes, lines and records."""
