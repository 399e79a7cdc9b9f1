"""Every relation path to a gold answer, exactly over the whole graph: what mining is compared with.

Hops are counted as in the beam search: a step into unnamed mediators and the step out of it are one hop, and no path
ends at a mediator or continues from a literal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from lodestar.engine.retrieval.frontier import is_return_path
from lodestar.engine.values import Entity, RelationPath, RelationStep
from lodestar.models.f1 import f1_of

Nodes = npt.NDArray[np.int64]


@dataclass(slots=True)
class WholeGraph:
    """Nodes by number, relations by number from 1, and for each node its outgoing steps, inverse ones included.

    The steps of node n are ``targets[starts[n]:starts[n + 1]]`` with the relation numbers in `steps`, negative if
    walked from tail to head. They are ordered by (step, target).
    """

    entities: list[Entity]
    relations: list[str]
    starts: Nodes
    targets: Nodes
    steps: Nodes
    numbers: dict[str, int] = field(init=False)
    relation_numbers: dict[str, int] = field(init=False)
    is_mediator: npt.NDArray[np.bool_] = field(init=False)
    is_literal: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = {entity.id: number for number, entity in enumerate(self.entities)}
        self.relation_numbers = {name: number for number, name in enumerate(self.relations) if number}
        self.is_mediator = np.array([entity.is_mediator for entity in self.entities], dtype=np.bool_)
        self.is_literal = np.array([entity.is_literal for entity in self.entities], dtype=np.bool_)

    @classmethod
    def of(cls, triples: Iterable[tuple[Entity, str, Entity]]) -> WholeGraph:
        """Return the graph of these triples."""
        entities: dict[str, int] = {}
        nodes: list[Entity] = []
        relations: dict[str, int] = {}
        heads, numbers, tails = [], [], []

        def number_of(entity: Entity) -> int:
            if entity.id not in entities:
                entities[entity.id] = len(entities)
                nodes.append(entity)
            return entities[entity.id]

        for head, relation, tail in triples:
            heads.append(number_of(head))
            numbers.append(relations.setdefault(relation, len(relations) + 1))
            tails.append(number_of(tail))
        sources = np.array(heads + tails, dtype=np.int64)
        targets = np.array(tails + heads, dtype=np.int64)
        steps = np.array(numbers + [-number for number in numbers], dtype=np.int64)
        order = np.lexsort((targets, steps, sources))
        starts = np.searchsorted(sources[order], np.arange(len(nodes) + 1))
        return cls(nodes, ["", *relations], starts, targets[order], steps[order])

    def steps_from(self, nodes: Nodes) -> tuple[Nodes, Nodes, Nodes]:
        """Return source, step and target of every step from these nodes."""
        counts = self.starts[nodes + 1] - self.starts[nodes]
        sources = np.repeat(nodes, counts)
        offsets = np.arange(len(sources)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = np.repeat(self.starts[nodes], counts) + offsets
        return sources, self.steps[at], self.targets[at]

    def within(self, nodes: Nodes, num_steps: int) -> list[npt.NDArray[np.bool_]]:
        """Return, for 0 to `num_steps` steps, a mask of the nodes within that many steps of `nodes`."""
        reached = np.zeros(len(self.entities), dtype=np.bool_)
        reached[nodes] = True
        levels = [reached]
        frontier = nodes
        for _ in range(num_steps):
            _, _, targets = self.steps_from(frontier)
            following = levels[-1].copy()
            following[targets] = True
            frontier = np.flatnonzero(following & ~levels[-1])
            levels.append(following)
        return levels


@dataclass(frozen=True, slots=True)
class ReachablePath:
    """A relation path from a topic with its end set."""

    topic: Entity
    relation_path: RelationPath
    ends: tuple[Entity, ...]
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall of the end set against the gold answers."""
        return f1_of(self.precision, self.recall)


def find_reachable_paths(
    graph: WholeGraph, topics: list[int], gold: Nodes, max_hop: int, *, return_to_topic: bool = False
) -> list[ReachablePath]:
    """Return every relation path of at most `max_hop` hops from a topic to a gold node, best F1 first.

    Equal F1: the shorter path first, then by the topic's id and the relations' names. Whether a topic may be an end is
    `return_to_topic` (see `retrieval.frontier`).
    """
    if not len(gold) or not topics:
        return []
    is_gold = np.zeros(len(graph.entities), dtype=np.bool_)
    is_gold[gold] = True
    is_topic = np.zeros(len(graph.entities), dtype=np.bool_)
    is_topic[topics] = True
    near = graph.within(gold, 2 * max_hop if graph.is_mediator.any() else max_hop)
    found = [
        reached
        for topic in topics
        for reached in _walk_paths(
            graph, topic, is_gold, is_topic, near, len(gold), max_hop, return_to_topic=return_to_topic
        )
    ]
    return sorted(found, key=lambda r: (-r.f1, len(r.relation_path.steps), r.topic.id, str(r.relation_path)))


def _walk_paths(
    graph: WholeGraph,
    topic: int,
    is_gold: npt.NDArray[np.bool_],
    is_topic: npt.NDArray[np.bool_],
    near: list[npt.NDArray[np.bool_]],
    num_gold: int,
    max_hop: int,
    *,
    return_to_topic: bool,
) -> Iterator[ReachablePath]:
    """Walk relation paths from one topic, depth first, while a gold node is near enough."""
    start = np.array([topic], dtype=np.int64)
    stack: list[tuple[Nodes, tuple[RelationStep, ...]]] = [(start, ())]
    while stack:
        frontier, steps = stack.pop()
        steps_left = len(near) - 1 - (len(steps) + 1)  # after this one
        for number, reached in _extend_frontier(graph, frontier, steps, near[steps_left]):
            to_mediator = bool(graph.is_mediator[reached].all())
            step = RelationStep(graph.relations[abs(number)], inverse=number < 0, to_mediator=to_mediator)
            path = RelationPath((*steps, step))
            hops_left = max_hop - path.num_hops
            ends = reached[~graph.is_mediator[reached]]
            if not return_to_topic or is_return_path(path.steps):
                ends = ends[~is_topic[ends]]
            num_right = int(is_gold[ends].sum())
            if num_right and not to_mediator:
                entities = tuple(graph.entities[end] for end in ends)
                yield ReachablePath(graph.entities[topic], path, entities, num_right / len(ends), num_right / num_gold)
            if hops_left and len(path.steps) < 2 * max_hop:
                stack.append((reached, path.steps))


def _extend_frontier(
    graph: WholeGraph, frontier: Nodes, steps: tuple[RelationStep, ...], near_enough: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, Nodes]]:
    """Yield every step from a frontier towards nodes that are near enough, with all its targets."""
    _, numbers, targets = graph.steps_from(frontier[~graph.is_literal[frontier]])
    useful = np.isin(numbers, np.unique(numbers[near_enough[targets]]))
    numbers, targets = numbers[useful], targets[useful]
    if not len(numbers):
        return
    order = np.lexsort((targets, numbers))
    numbers, targets = numbers[order], targets[order]
    first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    for begin, end in zip(first, np.append(first[1:], len(numbers)), strict=True):
        number = int(numbers[begin])
        if (
            steps
            and steps[-1].to_mediator
            and steps[-1] == RelationStep(graph.relations[abs(number)], number > 0, True)
        ):
            continue  # straight back from a mediator
        yield number, np.unique(targets[begin:end])
