"""Relation paths of the whole graph as retrieved paths, with entity paths for their first ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...values import Entity, Path, RelationPath, RetrievedPath, Step, Triple
from ..whole_graph import Nodes, WholeGraph

MAX_INSTANCES = 10


def retrieved(graph: WholeGraph, topic: int, relation_path: RelationPath, ends: Sequence[Entity]) -> RetrievedPath:
    """Return the relation path with its ends, and one entity path to each of the first of them."""
    numbers = [_number(graph, step) for step in relation_path.steps]
    frontiers = [np.array([topic], dtype=np.int64)]
    for number in numbers[:-1]:
        _, steps, targets = graph.steps_from(frontiers[-1])
        frontiers.append(np.unique(targets[steps == number]))
    instances = tuple(_instance(graph, frontiers, numbers, graph.numbers[end.id]) for end in ends[:MAX_INSTANCES])
    return RetrievedPath(graph.entities[topic], relation_path, instances, tuple(ends))


def shortest_path(graph: WholeGraph, topic: int, end: int, distances: Nodes) -> RelationPath:
    """Return the relations of a shortest path, by all nodes' distances from the topic; ties: the smallest numbers."""
    steps: list[Step] = []
    node = end
    while node != topic:
        _, numbers, targets = graph.steps_from(np.array([node], dtype=np.int64))
        nearer = np.flatnonzero(distances[targets] == distances[node] - 1)
        order = np.lexsort((numbers[nearer], targets[nearer]))
        at = nearer[order[0]]
        number = -int(numbers[at])
        steps.append(Step(graph.relations[abs(number)], number < 0, bool(graph.is_mediator[node])))
        node = int(targets[at])
    return RelationPath(tuple(reversed(steps)))


def distances_from(graph: WholeGraph, node: int, farthest: int) -> Nodes:
    """Return the number of steps from a node to every node; `farthest` + 1 for those farther away."""
    levels = graph.within(np.array([node], dtype=np.int64), farthest)
    distances: Nodes = (farthest + 1) - np.sum(levels, axis=0)
    return distances


def _number(graph: WholeGraph, step: Step) -> int:
    number = graph.relation_numbers[step.relation]
    return -number if step.inverse else number


def _instance(graph: WholeGraph, frontiers: Sequence[Nodes], numbers: Sequence[int], end: int) -> Path:
    """Walk back from an end: at each step to the smallest node that leads there."""
    triples: list[Triple] = []
    node = end
    for frontier, number in zip(reversed(frontiers), reversed(numbers), strict=True):
        _, steps, targets = graph.steps_from(np.array([node], dtype=np.int64))
        source = int(np.intersect1d(targets[steps == -number], frontier)[0])
        before, after = graph.entities[source], graph.entities[node]
        relation = graph.relations[abs(number)]
        triples.append(Triple(before, relation, after) if number > 0 else Triple(after, relation, before))
        node = source
    return Path(tuple(reversed(triples)), tuple(number < 0 for number in numbers))
