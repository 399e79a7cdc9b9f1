"""Verbs for what Lodestar needs and for a first look at it."""
