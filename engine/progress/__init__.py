"""What a person waiting sees on stderr."""
