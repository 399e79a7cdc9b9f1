"""Of parts that one thing has to fit all of, the chains that are likely together: those with an end in common."""

from __future__ import annotations

from collections.abc import Sequence

from ..evidence.chain import Chain
from ..values import Scored

KEPT = 20
"""Combinations that are carried on from part to part."""

Weighted = tuple[Scored[Chain], float]
"""A chain of a part, with the logarithm of its probability; where nobody knows that, with its score."""
_Combination = tuple[float, frozenset[str] | None, list[Scored[Chain]]]


def agreeing(parts: Sequence[Sequence[Weighted]]) -> list[Scored[Chain]] | None:
    """Return a chain of each part, those of the highest joint probability whose ends have one in common; None where
    none have. What a chain's ends leave out of what it leads to is not looked at."""
    best: list[_Combination] = [(0.0, None, [])]
    for chains in parts:
        longer: list[_Combination] = []
        for weight, shared, chosen in best:
            for item, likely in chains:
                ends = frozenset(end.id for end in item.value.answers)
                common = ends if shared is None else shared & ends
                if common:
                    longer.append((weight + likely, common, [*chosen, item]))
        best = sorted(longer, key=lambda each: -each[0])[:KEPT]
    return best[0][2] if best else None
