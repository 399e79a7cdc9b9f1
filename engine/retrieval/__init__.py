"""Retrieval: from a question to ranked, grounded paths."""
