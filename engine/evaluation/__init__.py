"""Evaluate answers to questions with gold answers: runs, records, metrics and reports."""
