"""Compute F1, and choose the set of answers whose expected F1 is the highest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEAST = 0.005
"""Candidates that are less likely are no answers, and not counted among what may be missing: their number is an
accident of retrieval."""
MOST = 300
"""Candidates that are looked at, the likeliest ones."""


def f1_of(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 when both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def expected_f1(probabilities: Floats) -> Floats:
    """Return the expected F1 of the k likeliest candidates, k = 1 … n, (n,); probabilities fall, (n,).

    Under independence, exact in O(n²) (Ye et al. 2012, "Optimizing F-measures: a tale of two approaches"): with A_k
    right ones among the first k and R_k among the rest, E[F1(k)] = Σ_a P(A_k = a) · 2a · E[1 / (k + a + R_k)], and
    s(k, α) = E[1 / (α + R_k)] = p_{k+1} s(k + 1, α + 1) + (1 − p_{k+1}) s(k + 1, α), s(n, α) = 1 / α.
    That no other set is better than the k likeliest is Lewis (1995).
    """
    n = len(probabilities)
    rests = np.empty((n + 1, 2 * n + 2))
    rests[n, 1:] = 1 / np.arange(1, 2 * n + 2)
    for k in range(n - 1, -1, -1):
        p = probabilities[k]
        rests[k, 1:-1] = p * rests[k + 1, 2:] + (1 - p) * rests[k + 1, 1:-1]
        rests[k, -1] = rests[k + 1, -1]
    found = np.empty(n)
    right = np.zeros(n + 1)
    right[0] = 1.0
    for k, p in enumerate(probabilities.tolist(), start=1):
        right[1 : k + 1] = p * right[:k] + (1 - p) * right[1 : k + 1]
        right[0] *= 1 - p
        found[k - 1] = (right[1 : k + 1] * 2 * np.arange(1, k + 1)) @ rests[k, k + 1 : 2 * k + 1]
    return found


def choose_answer_count(probabilities: Floats, *, one: bool = False) -> int:
    """Return how many of the candidates, whose probabilities fall, are the answer; 0 where there is none.

    one: the question asks for one thing.
    """
    likely = probabilities[:MOST][probabilities[:MOST] >= LEAST]
    if one or len(likely) < 2:
        return min(len(probabilities), 1)
    return int(np.argmax(expected_f1(likely))) + 1
