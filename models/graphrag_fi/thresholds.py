"""The thresholds of integration, fitted on questions whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .integration import Claim, Thresholds

MAX_CANDIDATES = 101
"""Thresholds that are tried of each kind: all confidences that occur, or that many quantiles of them."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question's claims with the graph and without it, the right keys, one a gold answer, and the number of these."""

    graph: tuple[Claim, ...]
    model: tuple[Claim, ...]
    right: frozenset[str]
    num_gold: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """The best thresholds with their mean F1, and what it is without integration and where everything is kept."""

    thresholds: Thresholds
    f1: float
    f1_graph: float
    f1_model: float
    f1_merged: float


def fitted(questions: Sequence[Answered]) -> Fitted:
    """Return the thresholds of the greatest mean F1; every question counts, 0 where nothing is kept.

        F1(q) = 2 · |kept ∩ right| / (|kept| + |gold|),  kept = {a | ℓ_G(a) ≥ τ_G or ℓ_L(a) ≥ τ_L}

    Of equally good ones those that keep the least of the model's own answers, then those that keep the most of the
    graph's. Above all confidences is a threshold as well: infinity, that keeps none.
    Deviations: the paper sets τ_L = 1 and τ_G by hand (section A.4), on questions that its script has cut down to those
    the model is sure of.
    """
    of_graph = _candidates([claim.confidence for question in questions for claim in question.graph])
    of_model = _candidates([claim.confidence for question in questions for claim in question.model])
    means = np.zeros((len(of_graph), len(of_model)))
    for question in questions:
        means += _f1(question, of_graph, of_model) / len(questions)
    preferred = np.round(means, 12).T[::-1]
    from_last, graph = np.unravel_index(int(preferred.argmax()), preferred.shape)
    model = len(of_model) - 1 - from_last
    return Fitted(
        Thresholds(float(of_graph[graph]), float(of_model[model])),
        f1=float(means[graph, model]),
        f1_graph=float(means[0, -1]),
        f1_model=float(means[-1, 0]),
        f1_merged=float(means[0, 0]),
    )


def _candidates(confidences: Sequence[float | None]) -> Floats:
    """Return thresholds to try, ascending: from 0, which keeps all, to infinity, which keeps none."""
    known = np.unique([confidence for confidence in confidences if confidence is not None])
    if len(known) > MAX_CANDIDATES:
        known = np.unique(np.quantile(known, np.linspace(0, 1, MAX_CANDIDATES), method="nearest"))
    return np.concatenate([[0.0], known[known > 0], [np.inf]])


def _f1(question: Answered, of_graph: Floats, of_model: Floats) -> Floats:
    """Return F1 by both thresholds, (num_graph, num_model)."""
    keys = list(dict.fromkeys(claim.key for claim in (*question.graph, *question.model)))
    in_graph = _reaches(question.graph, keys, of_graph, unknown=np.inf)
    in_model = _reaches(question.model, keys, of_model, unknown=-np.inf)
    is_kept = in_graph[:, None, :] | in_model[None, :, :]
    right = np.array([key in question.right for key in keys], dtype=np.int64)
    total = is_kept.sum(axis=2) + question.num_gold
    return np.asarray(2.0 * (is_kept @ right) / np.maximum(total, 1))


def _reaches(
    claims: Sequence[Claim], keys: Sequence[str], thresholds: Floats, *, unknown: float
) -> npt.NDArray[np.bool_]:
    """Return which keys a threshold keeps, (num_thresholds, num_keys)."""
    best = dict.fromkeys(keys, -np.inf)
    for claim in claims:
        best[claim.key] = max(best[claim.key], unknown if claim.confidence is None else claim.confidence)
    return np.array([best[key] for key in keys])[None, :] >= thresholds[:, None]
