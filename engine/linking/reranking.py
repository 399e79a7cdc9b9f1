"""Rerank candidate entities by their names and by whether they have the relations that the question asks for.

p = 1 / (1 + exp(−w · x)), where x holds the log-odds by names alone and the features of `relation_evidence`. The
formula is our own.
The weights were fitted on the training questions of FB15k-237 (`python -m benchmarks.accuracy.linking --fit`;
docs/linking.md). A trained linker (`lodestar train linker`) uses a network instead.
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
"""The input features of a trained linker."""
_LEAST = 1e-6


class CandidateReranker(Protocol):
    """Scores the candidate entities of a question a second time."""

    def compute_probabilities(self, found: Sequence[Topic], relations: Floats) -> Floats:
        """Return the probability that the question is about each candidate, (num_candidates,).

        found: the candidates with their probabilities by names. relations: (num_candidates, num_features), the features
        of `relation_evidence`.
        """
        ...


class LogisticReranker:
    """Reranks candidates by logistic regression with fixed weights."""

    def __init__(self, weights: Sequence[float] = WEIGHTS) -> None:
        self._weights = np.asarray(weights)

    def compute_probabilities(self, found: Sequence[Topic], relations: Floats) -> Floats:
        """Return 1 / (1 + exp(−w · x))."""
        probability: Floats = 1 / (1 + np.exp(-(compute_features(found, relations) @ self._weights)))
        return probability


def compute_features(found: Sequence[Topic], relations: Floats) -> Floats:
    """Return x, (num_candidates, num_features), in the order of `FEATURES`."""
    return np.column_stack([np.ones(len(found)), compute_log_odds(found), relations])


def compute_trained_features(found: Sequence[Topic], relations: Floats) -> Floats:
    """Return the input of a trained linker, (num_candidates, num_features), in the order of `TRAINED_FEATURES`."""
    by_words = compute_log_odds(found)
    of_words = np.array([candidate.features[1:] for candidate in found])
    return np.column_stack([of_words, by_words, by_words - by_words.max(), relations])


def compute_log_odds(found: Sequence[Topic]) -> Floats:
    """Return the log-odds of the candidates' probabilities by names, (num_candidates,)."""
    p = np.clip([candidate.score for candidate in found], _LEAST, 1 - _LEAST)
    odds: Floats = np.log(p) - np.log1p(-p)
    return odds
