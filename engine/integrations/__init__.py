"""Adapters of an `Engine` for frameworks: retrievers, an answering step and a tool."""
