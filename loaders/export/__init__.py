"""The formats a graph is written in, one file each, and the files they are written to."""
