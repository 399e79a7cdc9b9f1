"""What share of a question's positives each path has, by the way positives are chosen."""

from __future__ import annotations

import numpy as np

from ..config import Positives
from ..inputs.examples import Example, Floats

"""f1: every path to a right answer, by how well its ends agree with the answers (our own). hard: those of hard path
mining, each alike (STAR, section 4.1). single: one shortest path (STAR without hard path mining)."""


def shares_of(example: Example, positives: Positives, any_weight: float) -> Floats:
    """Return the share of each reachable path, (num_reachable,), adding up to 1; all 0 where there are no positives.

    `any_weight` is what reaching a right answer at all counts beside F1, for the positives `f1`; where an annotator
    wrote the question's paths, these count alone, each alike.
    """
    if positives == "single":
        raw = np.zeros(len(example.reachable), dtype=np.float32)
        if example.first_shortest >= 0:
            raw[example.first_shortest] = 1.0
    elif positives == "hard":
        raw = example.positive.astype(np.float32)
    else:
        raw = example.f1 + any_weight * example.is_right
        if example.positive.any() and example.has_gold:
            raw = example.positive.astype(np.float32)
    total = raw.sum()
    shares: Floats = (raw / total if total else raw).astype(np.float32)
    return shares
