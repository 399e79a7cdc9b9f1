"""Figures of a ranking: which of its places are relevant, and how many relevant things there are in all.

Ties, for every figure of this package: a ranking is a total order, the one that the system gave. Equal scores keep the
order of the stage that made them, whose stated tie-break decides; no figure looks at scores or breaks ties anew.

Conventions: where nothing is relevant a figure is 1 if nothing was ranked, else 0, as for answers. k is at least 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, log2

from ...questions.gold import GoldAnswer
from .matching import Predicted, distinct_gold, matched


@dataclass(frozen=True, slots=True)
class Ranking:
    """For each rank, best first, whether what stands there is relevant; `num_relevant` counts what is missing, too."""

    relevant: tuple[bool, ...]
    num_relevant: int

    def __post_init__(self) -> None:
        if sum(self.relevant) > self.num_relevant:
            raise ValueError(f"expected at most {self.num_relevant} relevant places, found {sum(self.relevant)}")


def answer_ranking(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> Ranking:
    """Return ranked predictions as a ranking, relevant where `matched` says so."""
    return Ranking(matched(predictions, gold), len(distinct_gold(gold)))


def reciprocal_rank(ranking: Ranking) -> float:
    """Return 1 / rank of the first relevant place, 0 without one; its mean is MRR (Voorhees 1999)."""
    if not ranking.num_relevant:
        return float(not ranking.relevant)
    return 1 / (ranking.relevant.index(True) + 1) if any(ranking.relevant) else 0.0


def ndcg_at_k(ranking: Ranking, k: int) -> float:
    """Return DCG@k / ideal DCG@k with DCG = Σ over ranks i ≤ k of rel_i / log2(i + 1) and rel_i in {0, 1}.

    Source: Järvelin & Kekäläinen 2002. Deviations: the discount is log2(i + 1) from the first rank on, as
    in trec_eval, where theirs is log2 i from the second. The ideal ranking begins with min(k, |relevant|) relevant
    things.
    """
    top = _top(ranking, k)
    if not ranking.num_relevant:
        return float(not ranking.relevant)
    gain = fsum(1 / log2(rank + 1) for rank, relevant in enumerate(top, start=1) if relevant)
    return gain / fsum(1 / log2(rank + 1) for rank in range(1, min(k, ranking.num_relevant) + 1))


def _top(ranking: Ranking, k: int) -> tuple[bool, ...]:
    if k < 1:
        raise ValueError(f"expected k of at least 1, found {k}")
    return ranking.relevant[:k]
