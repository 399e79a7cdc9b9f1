"""Faces: what frameworks know as a retriever, an answering step or a tool, each a thin adapter of an `Engine`."""
