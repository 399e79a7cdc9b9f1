"""Fit logistic regressions, and the probability that a score stands for; keep a shortlist above all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

PENALTY = 1e-3
"""Keeps the slope finite when the scores separate right from wrong perfectly."""


def fit_calibration(
    scored: Sequence[tuple[float, float]], weights: Sequence[float] | None = None
) -> tuple[float, float]:
    """Return slope and intercept of P = σ(slope · score + intercept), by logistic regression (Platt 1999).

    scored: the score of each question's first path, and 1 if it is right, else 0. weights: sum to 1; None for equal
    weights.
    """
    scores, right = np.array(scored, dtype=np.float64).T
    weight = np.full(len(right), 1 / len(right)) if weights is None else np.array(weights)
    slope, intercept = fit_logistic_regression(
        scores[:, None], right, weight, 2 * PENALTY, intercept_penalty=2 * PENALTY
    ).tolist()
    return slope, intercept


def fit_logistic_regression(
    x: Floats,
    y: Floats,
    weights: Floats,
    penalty: float,
    start: Floats | None = None,
    *,
    intercept_penalty: float = 1e-9,
) -> Floats:
    """Return the coefficients of P = σ(x · β + β_0), (num_columns + 1,), the last one β_0.

    Least is Σ weights · cross-entropy + penalty/2 · Σ (β · spread)²: columns count alike, whatever their scale. By
    Newton's method. intercept_penalty: of β_0 where the columns' means are 0.
    x: (num_rows, num_columns), y: 0 or 1, weights: adding up to about 1.
    """
    mean, spread = x.mean(axis=0), x.std(axis=0)
    spread = np.where(spread > 1e-6, spread, 1.0)  # what differs by less is rounding
    z = np.hstack([(x - mean) / spread, np.ones((len(x), 1))])
    ridge = np.append(np.full(x.shape[1], penalty), intercept_penalty)
    beta = np.zeros(z.shape[1])
    if start is not None:
        beta = np.append(start[:-1] * spread, start[-1] + start[:-1] @ mean)
    for _ in range(40):
        p = sigmoid(np.clip(z @ beta, -30, 30))
        gradient = z.T @ (weights * (p - y)) + ridge * beta
        hessian = (z * (weights * p * (1 - p))[:, None]).T @ z + np.diag(ridge + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        beta = beta - step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-7:
            break
    slopes = beta[:-1] / spread
    return np.append(slopes, beta[-1] - slopes @ mean)


def sigmoid(z: Any) -> Any:
    """Return 1 / (1 + e^−z) of a number, or of each of an array."""
    return 1 / (1 + np.exp(-np.clip(z, -500, None)))


GAP = 1e-3
"""At least between the last of the shortlist and the first of the others."""


def lower_scores_except(scores: npt.NDArray[np.float32], rows: npt.NDArray[np.int64]) -> None:
    """Lower, in place, all scores but those at `rows` by the same, so that they come after; scores: (num_paths,)."""
    others = np.ones(len(scores), dtype=np.bool_)
    others[rows] = False
    if len(rows) and others.any():
        scores[others] -= max(0.0, GAP + float(scores[others].max() - scores[rows].min()))
