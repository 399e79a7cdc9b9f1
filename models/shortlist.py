"""A shortlist above the rest: what a better scorer ordered comes before what it never saw."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GAP = 1e-3
"""At least between the last of the shortlist and the first of the others."""


def others_below(scores: npt.NDArray[np.float32], rows: npt.NDArray[np.int64]) -> None:
    """Lower, in place, all scores but those at `rows` by the same, so that they come after; scores: (num_paths,)."""
    others = np.ones(len(scores), dtype=np.bool_)
    others[rows] = False
    if len(rows) and others.any():
        scores[others] -= max(0.0, GAP + float(scores[others].max() - scores[rows].min()))
