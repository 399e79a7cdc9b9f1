"""Both networks' scores as one: the dual encoder's shortlist in the order of a weighted sum. Our own, no paper's.

    score(q, p) = (1 − λ) · stop(q, p) + λ · logit s(q, p)      for the shortlisted paths; all others follow below

λ = 1 is STAR's scorer alone, λ = 0 the dual encoder alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..shortlist import others_below
from ..training.objective import Figures
from .inputs.examples import Example, Floats
from .learning.figures import first_path_figures

MIXES = tuple(round(0.05 * step, 2) for step in range(21))

Rows = npt.NDArray[np.int64]


def blended(stop: Floats, cross: Floats, mix: float) -> Floats:
    """Return the weighted sum, (num_paths,), of both networks' scores of the same paths. mix: λ."""
    return np.asarray((1 - mix) * stop + mix * cross, dtype=np.float32)


def mixed(stop: Floats, cross: Floats, rows: Rows, mix: float) -> Floats:
    """Return the scores of all paths. stop: (num_paths,). cross: (num_shortlisted,), of the paths at `rows`. mix: λ."""
    scores = np.asarray(stop, dtype=np.float32).copy()
    scores[rows] = blended(stop[rows], cross, mix)
    others_below(scores, rows)
    return scores


def best_mix(
    ranked: Sequence[tuple[Example, Floats, Floats, Rows]], mixes: Sequence[float] = MIXES
) -> tuple[float, Figures]:
    """Return the λ of the best figures on these dev examples, and the figures; of equal ones the smallest λ."""
    figures = {
        mix: first_path_figures((example, mixed(stop, cross, rows, mix)) for example, stop, cross, rows in ranked)
        for mix in mixes
    }
    best = max(mixes, key=lambda mix: (figures[mix]["choose_by"], -mix))
    return best, figures[best]
