"""The paths that triples make from topics, by breadth-first search in plain Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

Level = list[list[Any]]


def expand(
    params: Mapping[str, Any], known: Collection[tuple[str, str, str]] | None = None
) -> list[tuple[int, int, list[Level]]]:
    """Return the rows of the query for these parameters. known: the triples of the graph; None for all that are given."""
    return [
        (number, topic, _levels(asked, topic, params, known))
        for number, asked in enumerate(params["questions"])
        for topic in range(asked["topics"])
    ]


def _levels(
    asked: Mapping[str, Any], topic: int, params: Mapping[str, Any], known: Collection[tuple[str, str, str]] | None
) -> list[Level]:
    leaving: list[list[tuple[int, int, int]]] = [[] for _ in asked["ids"]]
    triples = list(zip(asked["heads"], asked["relations"], asked["tails"], strict=True))
    for inverse in (0, 1):
        for place, (head, relation, tail) in enumerate(triples):
            said = (asked["ids"][head], params["relations"][relation], asked["ids"][tail])
            if known is not None and said not in known:
                continue
            if not inverse:
                leaving[head].append((2 * relation, tail, place))
            elif head != tail and not asked["literals"][tail]:
                leaving[tail].append((2 * relation + 1, head, place))
    found: list[Level] = []
    paths: list[tuple[list[int], frozenset[int], int, tuple[int, ...]]] = [([topic], frozenset(), 0, ())]
    for _ in range(params["max_length"]):
        longer = []
        for parent, (ends, walked, rank, codes) in enumerate(paths):
            steps: dict[int, list[tuple[int, int]]] = {}
            for source in ends:
                for code, target, place in leaving[source]:
                    if place not in walked:
                        steps.setdefault(code, []).append((target, place))
            for code, step in steps.items():
                places = [place for _, place in step]
                weakest = max(rank, min(asked["ranks"][place] for place in places))
                targets = list(dict.fromkeys(target for target, _ in step))
                longer.append((weakest, (*codes, code), parent, places, targets, walked | set(places)))
        longer.sort(key=lambda path: path[:2])
        kept = longer[: params["max_paths"]]
        found.append([[parent, codes[-1], places] for _, codes, parent, places, _, _ in kept])
        paths = [(targets, walked, weakest, codes) for weakest, codes, _, _, targets, walked in kept]
    return found
