"""What several refiners chose, joined (ReG, table 6): their union, or their intersection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ....models.mined.pool import Pool, PooledQuestion
from ...errors import UsageError

How = Literal["union", "intersection"]
DISJOINT = "without a chain that all chose, so their union"


def joined(pools: Sequence[Pool], how: How) -> Pool:
    """Return the pool with what any of the refiners chose (union), or what all of them did (intersection).

    A refiner that left a question unrefined has no say in it. Where all chose different chains their union stands for
    the intersection, and is counted. Raises `UsageError` where the pools are not refinements of one.
    """
    first = pools[0]
    if not all(pool.header.refiner for pool in pools):
        raise UsageError("expected refined pools to join, found one that is not refined: refine it first")
    if any(tuple(map(_candidates, pool.questions)) != tuple(map(_candidates, first.questions)) for pool in pools):
        raise UsageError("expected refinements of one candidate pool, found different candidates: refine the same pool")
    counts = Counter({"refined": 0, DISJOINT: 0})
    questions = [_joined(many, how, counts) for many in zip(*(pool.questions for pool in pools), strict=True)]
    name = f"{how} of {', '.join(dict.fromkeys(pool.header.refiner for pool in pools))}"
    plain = {key: value for key, value in first.header.counts.items() if not key.startswith(("refined", "unrefined"))}
    return Pool(replace(first.header, refiner=name, counts={**plain, **counts}), tuple(questions))


def _joined(many: Sequence[PooledQuestion], how: How, counts: Counter[str]) -> PooledQuestion:
    said = [set(each.chosen) for each in many if each.how == "refined"]
    if not said:
        return many[0]
    chosen = set.union(*said) if how == "union" else set.intersection(*said)
    if not chosen:
        counts[DISJOINT] += 1
        chosen = set.union(*said)
    counts["refined"] += 1
    return replace(many[0], chosen=tuple(sorted(chosen)), how="refined")


def _candidates(question: PooledQuestion) -> object:
    return question.id, question.chains
