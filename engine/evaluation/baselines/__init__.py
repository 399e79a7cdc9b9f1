"""Retrievers that show where the floor and the ceiling are; they search the whole graph in memory."""
