"""Path Pooling as the paper's algorithm 1 reads: every path written out, one question at a time, in plain loops."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator

import numpy as np
from lodestar.models.path_pooling import PoolingOptions

PlainTriple = tuple[int, int, float]
Way = list[int]  # triples by number, from the topic on


def reference_scores(triples: list[PlainTriple], topics: list[int], pooling: PoolingOptions) -> list[float]:
    """Return s' of each triple of one question."""
    if not triples:
        return []
    bonus = min(score for _, _, score in triples) / pooling.position
    found: dict[int, float] = {}
    for topic in topics:
        for is_turned in (False, True):
            edges = [(t, h, s) if is_turned else (h, t, s) for h, t, s in triples]
            for way in ways_from(edges, topic, pooling):
                pooled = total(way, edges) / len(way)
                for place, number in enumerate(reversed(way) if is_turned else way, start=1):
                    found[number] = max(found.get(number, -np.inf), pooled + bonus / place)
    return [found.get(number, score + bonus) for number, (_, _, score) in enumerate(triples)]


def total(way: Way, edges: list[PlainTriple]) -> float:
    """Return the sum of the way's scores, added up from the topic on as float arithmetic is."""
    return functools.reduce(operator.add, (edges[number][2] for number in way))


def ways_from(edges: list[PlainTriple], topic: int, pooling: PoolingOptions) -> Iterator[Way]:
    if pooling.kernel == "dijkstra":
        yield from shortest_ways(edges, topic, pooling)
    elif pooling.kernel == "bfs":
        yield from simple_ways(edges, [topic], [], pooling.max_length)
    else:
        yield from walks(edges, topic, pooling)


def shortest_ways(edges: list[PlainTriple], topic: int, pooling: PoolingOptions) -> Iterator[Way]:
    """Yield the shortest ways to every node; of equally short last steps those of the best pooled score, all alike."""
    ways: dict[int, list[Way]] = {topic: [[]]}
    level = {topic}
    while level:
        offered: dict[int, list[Way]] = {}
        for number, (source, target, _) in enumerate(edges):
            if source in level and target not in ways:
                offered.setdefault(target, []).extend([*way, number] for way in ways[source])
        for target, several in offered.items():
            values = [total(way, edges) for way in several]
            best = max(values)
            ways[target] = [way for way, value in zip(several, values, strict=True) if value == best]
            yield from ways[target]
        level = set(offered)


def simple_ways(edges: list[PlainTriple], nodes: list[int], way: Way, max_length: int) -> Iterator[Way]:
    if way:
        yield way
    if len(way) < max_length:
        for number, (source, target, _) in enumerate(edges):
            if source == nodes[-1] and target not in nodes:
                yield from simple_ways(edges, [*nodes, target], [*way, number], max_length)


def walks(edges: list[PlainTriple], topic: int, pooling: PoolingOptions) -> Iterator[Way]:
    for drawn in np.random.default_rng(pooling.seed).random((pooling.num_walks, pooling.max_length)):
        node, way = topic, []
        for number in drawn:
            leaving = [n for n, (source, _, _) in enumerate(edges) if source == node]
            if not leaving:
                break
            leaving.sort(key=lambda n: -edges[n][2])
            way.append(leaving[int(number * len(leaving))])
            node = edges[way[-1]][1]
        if way:
            yield way
