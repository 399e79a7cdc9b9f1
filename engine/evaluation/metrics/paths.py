"""Score ranked paths: recall, Hits@k, MRR, nDCG.

Ties: a ranking is a total order, as given by the system. Equal scores keep the order of the stage that gave them; no
metric looks at scores or breaks ties again.

Relations are compared by name, without regard to direction. Conventions: if nothing is relevant (no gold answer), a
metric is 1 if nothing was ranked, else 0; if something is relevant and no path was found, 0. k is at least 1. Metrics
of gold paths and gold triples are for annotated questions only; for others the functions raise `ValueError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, log2

from ...gold_questions import GoldAnswer, GoldPath
from .answers import Prediction, distinct_gold, match_predictions, normalise_answer


@dataclass(frozen=True, slots=True)
class Ranking:
    """Whether the item at each rank, best first, is relevant; `num_relevant` also counts relevant items that are
    missing.
    """

    relevant: tuple[bool, ...]
    num_relevant: int

    def __post_init__(self) -> None:
        if sum(self.relevant) > self.num_relevant:
            raise ValueError(f"expected at most {self.num_relevant} relevant places, found {sum(self.relevant)}")


def answer_ranking(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> Ranking:
    """Return ranked predictions as a ranking, relevant if `match_predictions` says so."""
    return Ranking(match_predictions(predictions, gold), len(distinct_gold(gold)))


def reciprocal_rank(ranking: Ranking) -> float:
    """Return 1 / rank of the first relevant item, 0 without one; its mean is MRR (Voorhees 1999)."""
    if not ranking.num_relevant:
        return float(not ranking.relevant)
    return 1 / (ranking.relevant.index(True) + 1) if any(ranking.relevant) else 0.0


def ndcg_at_k(ranking: Ranking, k: int) -> float:
    """Return DCG@k / ideal DCG@k with DCG = Σ over ranks i ≤ k of rel_i / log2(i + 1) and rel_i in {0, 1}.

    Source: Järvelin & Kekäläinen 2002. Deviations: the discount is log2(i + 1) from the first rank on, as in trec_eval,
    where theirs is log2 i from the second. The ideal ranking begins with min(k, |relevant|) relevant items.
    """
    top = _first_relevant(ranking, k)
    if not ranking.num_relevant:
        return float(not ranking.relevant)
    gain = fsum(1 / log2(rank + 1) for rank, relevant in enumerate(top, start=1) if relevant)
    return gain / fsum(1 / log2(rank + 1) for rank in range(1, min(k, ranking.num_relevant) + 1))


def _first_relevant(ranking: Ranking, k: int) -> tuple[bool, ...]:
    if k < 1:
        raise ValueError(f"expected k of at least 1, found {k}")
    return ranking.relevant[:k]


FoundTriple = tuple[Prediction, str, Prediction]
"""(head, relation, tail)."""

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RetrievedPath:
    """A retrieved relation path: its relations in walking order, its distinct ends, and its triples.

    A retriever of single triples gives each as a path of one relation.
    """

    relations: tuple[str, ...]
    ends: tuple[Prediction, ...]
    triples: tuple[FoundTriple, ...] = ()


def hits_at_1_any(paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer]) -> float:
    """Return [a gold answer is among the ends of the first path]: the generous reading of Hits@1 for paths."""
    if not gold:
        return float(not paths)
    return float(any(match_predictions(paths[0].ends, gold))) if paths else 0.0


def hits_any_at_k(paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer], k: int) -> float:
    """Return [a gold answer is among the ends of the first k paths]; for k = 1 this is `hits_at_1_any`.

    Source: STAR's results by number of retrieved paths (section 5.3.3), for retrieval alone.
    """
    top = _top(paths, k)
    if not gold:
        return float(not paths)
    return float(any(any(match_predictions(path.ends, gold)) for path in top))


def hits_at_1_expected(paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer]) -> float:
    """Return |gold among the ends of the first path| / |its ends|: the probability that a random end is right.

    0 if the first path has no ends. Never above `hits_at_1_any`.
    """
    if not gold:
        return float(not paths)
    if not paths or not paths[0].ends:
        return 0.0
    return sum(match_predictions(paths[0].ends, gold)) / len(paths[0].ends)


def answer_recall_at_k(paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer], k: int) -> float:
    """Return |gold answers among the ends of the first k paths| / |gold answers|, matched one to one.

    Source: the answer recall of SubgraphRAG (Li et al. 2025), over paths.
    """
    top = _top(paths, k)
    if not gold:
        return float(not paths)
    ends = list(dict.fromkeys(end for path in top for end in path.ends))
    return sum(match_predictions(ends, gold)) / len(distinct_gold(gold))


def path_recall_at_k(paths: Sequence[RetrievedPath], gold_paths: Sequence[GoldPath], k: int) -> float:
    """Return |gold relation paths among the first k| / |gold relation paths|, distinct by their relations."""
    found = {path.relations for path in _top(paths, k)}
    wanted = {path.relations for path in gold_paths}
    if not wanted:
        raise ValueError("expected at least one gold path, found none: path recall is for annotated questions")
    return len(found & wanted) / len(wanted)


def gold_path_hit_at_k(paths: Sequence[RetrievedPath], gold_paths: Sequence[GoldPath], k: int) -> float:
    """Return [one of the gold relation paths is among the first k]."""
    return float(path_recall_at_k(paths, gold_paths, k) > 0)


def first_path_right(
    paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer], gold_paths: Sequence[GoldPath]
) -> float:
    """Return [the first path is a gold relation path, or its ends are exactly the gold answers].

    Our own: two relations with the same meaning lead to the same ends, and annotators wrote one of them.
    """
    if not paths:
        return 0.0
    if gold_path_hit_at_k(paths, gold_paths, 1):
        return 1.0
    right = match_predictions(paths[0].ends, gold)
    return float(bool(right) and all(right) and sum(right) == len(distinct_gold(gold)))


def triple_recall_at_k(paths: Sequence[RetrievedPath], gold_triples: Sequence[tuple[str, str, str]], k: int) -> float:
    """Return |gold triples in the first k paths| / |gold triples|; head and tail match by id or by name.

    Source: the triple recall of SubgraphRAG (Li et al. 2025), where each retrieved triple is its own path.
    """
    top = _top(paths, k)
    wanted = set(gold_triples)
    if not wanted:
        raise ValueError("expected at least one gold triple, found none: triple recall is for annotated questions")
    found = {
        (head, relation, tail)
        for path in top
        for first, relation, last in path.triples
        for head in _keys(first)
        for tail in _keys(last)
    }
    num_found = sum(
        any((h, relation, t) in found for h in _gold_keys(head) for t in _gold_keys(tail))
        for head, relation, tail in wanted
    )
    return num_found / len(wanted)


def _keys(entity: Prediction) -> list[_Key]:
    return ([("id", entity.id)] if entity.id else []) + (
        [("name", normalise_answer(entity.name))] if entity.name else []
    )


def _gold_keys(text: str) -> tuple[_Key, _Key]:
    return ("id", text), ("name", normalise_answer(text))


def _top(paths: Sequence[RetrievedPath], k: int) -> Sequence[RetrievedPath]:
    if k < 1:
        raise ValueError(f"expected k of at least 1, found {k}")
    return paths[:k]
