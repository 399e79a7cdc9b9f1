"""The paths that the cross-attentive scorer learns a question from: positives, and negatives to choose from."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .examples import Candidates, Example, Floats
from .paths import Ints

Negatives = Literal["reach", "hard", "walks"]
"""reach: the paths in the graph that the dual encoder ranks first (our own). hard: those of hard path mining (STAR,
section 4.1). walks: paths in the graph drawn at random (STAR without hard path mining)."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Positives with their shares, and negatives, hardest first where the dual encoder chose them; with its scores of
    both, 0 for paths that the graph lacks."""

    positives: Candidates
    shares: Floats
    negatives: Candidates
    positive_stop: Floats
    negative_stop: Floats


def pool_of(
    example: Example,
    shares: Floats,
    negatives: Negatives,
    shortlist: Floats,
    *,
    num_positives: int,
    num_negatives: int,
    chance: random.Random,
) -> Pool:
    """Return the pool of a question. shares, shortlist: (num_reachable,), the latter the dual encoder's scores.

    A path to a right answer is never a negative.
    """
    best = np.argsort(-shares, kind="stable")[:num_positives]
    best = best[shares[best] > 0]
    wrong = np.flatnonzero(~example.is_right)
    if negatives == "reach":
        rows = wrong[np.argsort(-shortlist[wrong], kind="stable")[:num_negatives]]
        chosen, stop = _of(example.reachable, rows), shortlist[rows]
    elif negatives == "walks":
        drawn = chance.sample(range(len(wrong)), min(num_negatives, len(wrong)))
        chosen, stop = _of(example.reachable, wrong[drawn]), shortlist[wrong[drawn]]
    else:
        chosen = _of(example.negatives, np.arange(len(example.negatives))[:num_negatives])
        stop = np.zeros(len(chosen), dtype=np.float32)
    return Pool(_of(example.reachable, best), shares[best] / shares[best].sum(), chosen, shortlist[best], stop)


def _of(candidates: Candidates, rows: Ints) -> Candidates:
    return Candidates(candidates.paths[rows], candidates.topics[rows])
