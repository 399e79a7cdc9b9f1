"""Files as bytes, lines and records."""
