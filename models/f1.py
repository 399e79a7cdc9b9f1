"""Compute F1 from precision and recall."""


def f1_of(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 when both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0
