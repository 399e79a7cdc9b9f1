"""Question sets: one file per published format, and the reading that finds which it is."""
