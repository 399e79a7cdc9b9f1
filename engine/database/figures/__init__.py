"""What a graph looks like in figures."""
