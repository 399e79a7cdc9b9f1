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
from dataclasses import replace

from ....models.star.mined import INVERSE, THROUGH, AnswerPath

TOLERANCE = 1e-9
"""A mean of equal numbers may come out above them by rounding."""

ROUNDED = 9
"""Decimals that F1 is compared by."""


def labelled(paths: Sequence[AnswerPath], *, annotated: bool) -> tuple[AnswerPath, ...]:
    """Return the answer paths of one question, of all its topics, with `shortest` and `positive` filled in.

    `annotated` when the question set has gold paths for it.
    """
    least: dict[int, int] = {}
    for path in paths:
        least[path.topic] = min(len(path.hops), least.get(path.topic, len(path.hops)))
    candidates = [path.similarity for path in paths if len(path.hops) == least[path.topic]]
    mean = math.fsum(candidates) / max(len(candidates), 1)
    best: dict[tuple[int, tuple[str, ...]], tuple[float, int]] = {}
    for path in paths:
        key = (path.topic, _undirected(path))
        best[key] = max(directed := _directed(path), best.get(key, directed))
    found = []
    for path in paths:
        shortest = len(path.hops) == least[path.topic]
        similar = shortest and path.similarity >= mean - TOLERANCE
        gold = path.gold and _directed(path) == best[path.topic, _undirected(path)]
        found.append(replace(path, shortest=shortest, gold=gold, positive=gold if annotated else similar))
    return tuple(found)


def _steps(path: AnswerPath) -> list[str]:
    return [step for hop in path.hops for step in hop.split(THROUGH)]


def _undirected(path: AnswerPath) -> tuple[str, ...]:
    return tuple(step.removeprefix(INVERSE) for step in _steps(path))


def _directed(path: AnswerPath) -> tuple[float, int]:
    """How well directions fit an annotation: F1 of the ends, then how few relations are walked backwards."""
    return round(path.f1, ROUNDED), -sum(step.startswith(INVERSE) for step in _steps(path))
