"""Compute metrics of knowledge graph question answering: pure functions with formula, source and conventions.

The denominator of every mean is the number of questions asked; a question that failed or timed out has
`answers.ALL_WRONG`. Answers are scored in two ways: by `answers.strict_scores`, and by `answers.rog_scores` like the
published baselines.
"""
