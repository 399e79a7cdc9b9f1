"""The paths that the cross-attentive scorer learns a question from: positives, and negatives to choose from."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from ..config import Negatives
from ..inputs.examples import Candidates, Example, Floats

"""reach: the paths in the graph that the dual encoder ranks first (our own). hard: those of hard path mining (STAR,
section 4.1), in an order drawn at random. walks: paths in the graph drawn at random (STAR without hard path mining)."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Positives with their shares, and negatives, hardest first where the dual encoder chose them."""

    positives: Candidates
    shares: Floats
    negatives: Candidates


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
        chosen = example.reachable.at(wrong[np.argsort(-shortlist[wrong], kind="stable")[:num_negatives]])
    else:
        drawn_from = example.reachable.at(wrong) if negatives == "walks" else example.negatives
        drawn = chance.sample(range(len(drawn_from)), min(num_negatives, len(drawn_from)))
        chosen = drawn_from.at(np.array(drawn, dtype=np.int64))
    return Pool(example.reachable.at(best), shares[best] / shares[best].sum(), chosen)
