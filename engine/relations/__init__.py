"""The relations of a graph: their words, and the index that finds the nearest."""
