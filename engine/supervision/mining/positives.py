"""Which answer paths a model is trained on (STAR, section 4.1).

Candidates are the shortest paths of each topic of the question. Of them those are positive whose similarity to the
question is at least the mean over all of the question's candidates:

    P⁺ = { p ∈ C : sim(q, p) ≥ 1/|C| · Σ_(p′∈C) sim(q, p′) }

Deviations: the length of a path is its number of hops between named entities; where annotators wrote a path of the
question down, the paths that have its relations are the positive ones instead. Annotations do not say in which
direction a relation is walked: of the paths with the same relations those with the best F1 count, and of these those
that walk the most relations as they are written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .answer_paths import RightPath
from .hops import steps_of

TOLERANCE = 1e-9
"""A mean of equal numbers may come out above them by rounding."""

ROUNDED = 9
"""Decimals that F1 is compared by."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a path is: a shortest one of its topic, a training example, the way that an annotator meant."""

    shortest: bool
    positive: bool
    gold: bool


def labels(paths: Sequence[RightPath], similarities: Sequence[float], *, annotated: bool) -> list[Label]:
    """Return the label of each path of one question, of all its topics, by its similarity to the question.

    `annotated` when the question set has gold paths for it.
    """
    least: dict[int, int] = {}
    for path in paths:
        least[path.topic] = min(len(path.hops), least.get(path.topic, len(path.hops)))
    shortest = [len(path.hops) == least[path.topic] for path in paths]
    candidates = [similarity for similarity, is_one in zip(similarities, shortest, strict=True) if is_one]
    mean = math.fsum(candidates) / max(len(candidates), 1)
    best: dict[tuple[int, tuple[str, ...]], tuple[float, int]] = {}
    for path in paths:
        key = (path.topic, _undirected(path))
        best[key] = max(directed := _directed(path), best.get(key, directed))
    found: list[Label] = []
    for path, similarity, is_one in zip(paths, similarities, shortest, strict=True):
        similar = is_one and similarity >= mean - TOLERANCE
        gold = path.gold and _directed(path) == best[path.topic, _undirected(path)]
        found.append(Label(is_one, gold if annotated else similar, gold))
    return found


def _undirected(path: RightPath) -> tuple[str, ...]:
    return tuple(step.relation for step in steps_of(path.hops))


def _directed(path: RightPath) -> tuple[float, int]:
    """How well directions fit an annotation: F1 of the ends, then how few relations are walked backwards."""
    return round(path.f1, ROUNDED), -sum(step.inverse for step in steps_of(path.hops))
