"""Verbs that make training data and models."""
