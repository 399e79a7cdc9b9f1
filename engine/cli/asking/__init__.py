"""Verbs that ask questions."""
