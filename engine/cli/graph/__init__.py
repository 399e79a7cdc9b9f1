"""Verbs for what is in the graph: loading, listing, checking, exporting it, and looking into it."""
