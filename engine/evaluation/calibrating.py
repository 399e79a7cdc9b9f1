"""Fit what the confidences of a run's answers mean: how often such a first answer is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...models.reader.fitting import fit_logistic_regression
from ..answering.candidates import compute_log_odds
from ..errors import UsageError
from ..evidence.calibration import Calibration, sigmoid
from .metrics.confidence import expected_calibration_error
from .record import Record

FOLDS = 5
PENALTY = 1e-3
"""Keeps the slope finite where confidences part right from wrong answers perfectly."""
LEAST = 2 * FOLDS
PROBABILITY = Calibration("probability")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ConfidenceFit:
    """P(the first answer is right) = σ(slope · log-odds of its confidence + intercept) (Platt 1999).

    num: answers with a confidence. share_right: of these. ece: expected calibration error, of the confidences as they
    are and of P, each question left out of the fit that judges it (five folds).
    """

    slope: float
    intercept: float
    num: int
    share_right: float
    ece_before: float
    ece_after: float


def fit_confidence(records: Sequence[Record]) -> ConfidenceFit:
    """Return the fit for a run's first answers; raise `UsageError` if fewer than ten have a confidence, or if all or
    none are right.
    """
    answered = [(record, record.answers[0].confidence) for record in records if record.answers]
    known = [(record, confidence) for record, confidence in answered if confidence is not None]
    right = np.array([record.scores["strict/hits_at_1"] == 1 for record, _ in known])
    if len(known) < LEAST or right.all() or not right.any():
        raise UsageError(
            f"expected at least {LEAST} answers with a confidence, right and wrong ones, found {len(known)}, "
            f"{int(right.sum())} of them right: ask more questions"
        )
    confidences = np.clip([confidence for _, confidence in known], 0.0, 1.0)
    log_odds = compute_log_odds(confidences.tolist(), PROBABILITY)[:, None]
    fold = np.arange(len(known)) % FOLDS
    left_out = np.zeros(len(known))
    for number in range(FOLDS):
        slope, intercept = _fit(log_odds[fold != number], right[fold != number])
        left_out[fold == number] = [sigmoid(slope * value + intercept) for value in log_odds[fold == number, 0]]
    slope, intercept = _fit(log_odds, right)
    return ConfidenceFit(
        slope,
        intercept,
        len(known),
        float(right.mean()),
        expected_calibration_error(confidences, right),
        expected_calibration_error(left_out, right),
    )


def _fit(log_odds: Floats, right: npt.NDArray[np.bool_]) -> tuple[float, float]:
    weights = np.full(len(right), 1 / len(right))
    slope, intercept = fit_logistic_regression(log_odds, right.astype(np.float64), weights, PENALTY)
    return float(slope), float(intercept)
