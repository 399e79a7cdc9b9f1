"""The paths that a prompt puts first, and those that it adds (GraphRAG-FI, section 4.1)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Priorities:
    """Paths by number, the most relevant first: those that both filters keep, and those that the first alone does.

    "High priority" and "additional" paths; none is in both. Deviations: the authors' prompt repeats the first group in
    the second; the difference is what the paper defines, P_coarse − P_final.
    """

    high: tuple[int, ...]
    additional: tuple[int, ...]


def coarse_filtered(relevances: npt.NDArray[np.floating], keep: int) -> tuple[int, ...]:
    """Return the numbers of the `keep` most relevant paths, the most relevant first; GraphRAG-FI, equation 2.

    relevances: â, (num_paths,). The threshold τ is that of the top 40 or 50 (section A.4); of equally relevant paths
    the earlier is kept.
    """
    return tuple(np.argsort(-relevances, kind="stable")[:keep].tolist())


def prioritised(coarse: tuple[int, ...], useful: Collection[int]) -> Priorities:
    """Return the two groups; GraphRAG-FI, equation 3.

    coarse: the paths that the first filter keeps, of which useful are those that the second keeps; others are ignored.
    """
    kept = set(useful)
    return Priorities(tuple(p for p in coarse if p in kept), tuple(p for p in coarse if p not in kept))
