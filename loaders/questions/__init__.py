"""Question sets: the reading of their files, which finds the format."""
