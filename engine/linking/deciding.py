"""The second weighing of candidates: how likely they are by words, and by whether what is asked exists at them.

p = 1 / (1 + exp(−w · x)), x the log-odds by words alone and the features of `relation_evidence`; our own, no paper's.
The weights were fitted on the training questions of FB15k-237 (`python -m benchmarks.accuracy.linking --fit`;
docs/linking.md). A trained linker (`lodestar train linker`) has a network of its own in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..values import Topic
from . import likelihood, relation_evidence
from .relation_evidence import Floats

FEATURES = ("1", "log-odds by words", *relation_evidence.FEATURES)
WEIGHTS = (-0.63, 0.98, 1.33, 3.01, 0.49, 0.27, -0.45)
TRAINED_FEATURES = (*likelihood.FEATURES[1:], "log-odds by words", "below the best", *relation_evidence.FEATURES)
"""What a trained linker is given."""
_LEAST = 1e-6


class Weighing(Protocol):
    """Weighs the candidates of a question."""

    def probabilities(self, found: Sequence[Topic], relations: Floats) -> Floats:
        """Return (num_candidates,): of each the probability that the question is about it.

        found: the candidates with their probabilities by words. relations: (num_candidates, num_features), the features
        of `relation_evidence`.
        """
        ...


class Logistic:
    """The weighing without training."""

    def __init__(self, weights: Sequence[float] = WEIGHTS) -> None:
        self._weights = np.asarray(weights)

    def probabilities(self, found: Sequence[Topic], relations: Floats) -> Floats:
        """Return 1 / (1 + exp(−w · x))."""
        probability: Floats = 1 / (1 + np.exp(-(features(found, relations) @ self._weights)))
        return probability


def features(found: Sequence[Topic], relations: Floats) -> Floats:
    """Return x, (num_candidates, num_features), in the order of `FEATURES`."""
    return np.column_stack([np.ones(len(found)), log_odds(found), relations])


def trained_features(found: Sequence[Topic], relations: Floats) -> Floats:
    """Return what a trained linker is given, (num_candidates, num_features), in the order of `TRAINED_FEATURES`."""
    by_words = log_odds(found)
    of_words = np.array([candidate.features[1:] for candidate in found])
    return np.column_stack([of_words, by_words, by_words - by_words.max(), relations])


def log_odds(found: Sequence[Topic]) -> Floats:
    """Return the log-odds of the candidates' probabilities by words, (num_candidates,)."""
    p = np.clip([candidate.score for candidate in found], _LEAST, 1 - _LEAST)
    odds: Floats = np.log(p) - np.log1p(-p)
    return odds
