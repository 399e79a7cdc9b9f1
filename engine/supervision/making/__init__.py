"""Questions made from a graph alone: relation paths drawn from it, put into words, with their answers."""
