"""The files of an embedded server, and the graph's among them."""
