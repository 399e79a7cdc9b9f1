"""Questions that have no answer: those of a mined file, without the relations that lead to their right answers.

What is taken out is what `lodestar eval --unanswerable` takes out: the relations of the positive paths, and of every
path whose ends agree with the right answers at F1 .5 or more, or as well as any does.
"""

from __future__ import annotations

import numpy as np

from ..mined import INVERSE, THROUGH, Hops
from .examples import Bools, Example
from .paths import PathTable

ENOUGH_F1 = 0.5


def remaining(example: Example, table: PathTable) -> Bools:
    """Return which of the reachable paths can be walked without these relations, (num_reachable,)."""
    least = min(ENOUGH_F1, float(example.f1.max(initial=0.0)))
    right = example.positive | ((example.f1 >= least) & example.is_right)
    paths = [table.written[path] for path in example.reachable.paths.tolist()]
    taken_out = {relation for row in np.flatnonzero(right).tolist() for relation in relations_of(paths[row])}
    return np.array([taken_out.isdisjoint(relations_of(path)) for path in paths], dtype=np.bool_)


def relations_of(hops: Hops) -> set[str]:
    """Return the relations of a path, as a mined file writes it."""
    return {step.removeprefix(INVERSE) for hop in hops for step in hop.split(THROUGH)}
