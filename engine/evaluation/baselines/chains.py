"""Relation paths of the whole graph as chains, with the triples that lead to their first ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...evidence.chain import Chain, ChainStep
from ...values import Entity, RelationPath, Step
from ..whole_graph import Nodes, WholeGraph

MAX_LINKED_ENDS = 2_000
"""So many ends of a chain come with their triples: as many as the search in the database reads at most."""


def chain_of(graph: WholeGraph, topic: int, relation_path: RelationPath, ends: Sequence[Entity]) -> Chain:
    """Return the relation path with its ends, and the triples on the way to the first of them."""
    numbers = [_number(graph, step) for step in relation_path.steps]
    frontier = np.array([topic], dtype=np.int64)
    walked: list[tuple[Nodes, Nodes]] = []
    for number in numbers:
        sources, steps, targets = graph.steps_from(frontier)
        taken = steps == number
        walked.append((sources[taken], targets[taken]))
        frontier = np.unique(targets[taken])
    wanted = np.array([graph.numbers[end.id] for end in ends[:MAX_LINKED_ENDS]], dtype=np.int64)
    chained: list[ChainStep] = []
    for step, (sources, targets) in zip(reversed(relation_path.steps), reversed(walked), strict=True):
        leads_on = np.isin(targets, wanted)
        wanted = np.unique(sources[leads_on])
        links = zip(sources[leads_on].tolist(), targets[leads_on].tolist(), strict=True)
        chained.append(ChainStep(step, tuple((graph.entities[s], graph.entities[t]) for s, t in links)))
    return Chain(graph.entities[topic], tuple(reversed(chained)), tuple(ends))


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
