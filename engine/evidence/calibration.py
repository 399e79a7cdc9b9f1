"""Turn scores into probabilities that an item leads to a right answer, and name their units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..values import check_finite

Unit = Literal["similarity", "logit", "probability"]

_TEMPERATURES: dict[Unit, float] = {"similarity": 0.1, "logit": 1.0, "probability": 1.0}


@dataclass(frozen=True, slots=True)
class Calibration:
    """P = σ(slope · score + intercept), by logistic regression (Platt 1999); of a probability, the score itself."""

    unit: Unit
    slope: float = 1.0
    intercept: float = 0.0
    of: Literal["path", "triple"] = "path"
    """What was right or wrong when it was fitted: probabilities of different things are not compared."""

    def probability(self, score: float) -> float:
        """Return P for a score; raise `CheckpointError` for one that is no number."""
        check_finite(np.array([score]), "a scorer", log_probabilities=True)
        if self.unit == "probability":
            return min(max(score, 0.0), 1.0)
        return sigmoid(self.slope * score + self.intercept)

    @property
    def temperature(self) -> float:
        """What a difference in score is divided by where items are weighed against each other. Our own choice."""
        return _TEMPERATURES[self.unit]

    def from_log_odds(self, difference: float) -> float:
        """Return how much score a difference in log-odds is; of a slope that is not positive, as if similarity."""
        slope = self.slope if self.slope > 0 else SIMILARITY.slope
        return difference / slope


SIMILARITY = Calibration("similarity", 1.93, -3.52)
"""Of `models.similarity`, fitted on training questions of FB15k-237 and MetaQA and on the development graphs of
``tests/people``, each of the three with the same weight, about a third of them without their answers
(docs/how-it-works.md)."""

LEAST_PROBABILITY = 0.2
"""Below it a chain is taken to be about something else."""


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure it is that the first answer is right: an `EvidenceExtra` of evidence about one path with one score.

    margin: how far the score is above that of the best path that leads elsewhere. lacking: how far the relation that
    fits best of those that the topic does not have is above the score, or 0. The probability is the calibration's of
    the score, raised and lowered by these (`NoAnswerExplainer`).
    """

    topic: str
    path: str
    score: float
    margin: float
    lacking: float
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """Return the probability and what it was computed from, as plain data."""
        of = ("probability", "score", "margin", "lacking")
        return {"certainty": {name: round(getattr(self, name), 6) for name in of}}


def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^−x), without overflow."""
    return 1 / (1 + math.exp(-max(min(x, 700.0), -700.0)))
