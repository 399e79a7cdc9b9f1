"""Metrics of question answering over knowledge graphs: pure functions, each with its formula, source and conventions.

The denominator of every mean is the number of questions asked: one that failed or timed out has `answers.ALL_WRONG`.
Answers are scored in two ways: `answers.strict_scores`, and `rog.rog_scores` as the published baselines do.
"""
