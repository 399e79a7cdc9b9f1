"""Path Pooling as the paper's algorithm 1 reads: every path written out, one question at a time, in plain loops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

PlainTriple = tuple[int, int, float]
Way = list[int]  # triples by number, from the topic on


def reference_scores(
    triples: list[PlainTriple], topics: list[int], position: float, *, directed: bool = True
) -> list[float]:
    """Return s' of each triple of one question."""
    if not triples:
        return []
    bonus = min(score for _, _, score in triples) / position
    found: dict[int, float] = {}
    for topic in topics:
        for is_turned in (False, True):
            edges = [(number, t, h) if is_turned else (number, h, t) for number, (h, t, _) in enumerate(triples)]
            if not directed:
                edges += [(number, t, h) for number, h, t in edges]
            for way in shortest_ways(edges, topic):
                pooled = sum(triples[number][2] for number in way) / len(way)
                for place, number in enumerate(reversed(way) if is_turned else way, start=1):
                    found[number] = max(found.get(number, -np.inf), pooled + bonus / place)
    return [found.get(number, score + bonus) for number, (_, _, score) in enumerate(triples)]


def shortest_ways(edges: list[tuple[int, int, int]], topic: int) -> Iterator[Way]:
    """Yield all shortest ways to every node."""
    ways: dict[int, list[Way]] = {topic: [[]]}
    level = {topic}
    while level:
        offered: dict[int, list[Way]] = {}
        for number, source, target in edges:
            if source in level and target not in ways:
                offered.setdefault(target, []).extend([*way, number] for way in ways[source])
        ways |= offered
        for several in offered.values():
            yield from several
        level = set(offered)
