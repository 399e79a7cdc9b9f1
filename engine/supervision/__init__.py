"""Build training data from a graph and questions with gold answers."""
