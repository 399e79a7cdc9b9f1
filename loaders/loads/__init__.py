"""What is done with loads: one from its source to the graph, one undone, all checked."""
