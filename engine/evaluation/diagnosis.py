"""Find the stage at which a gold answer was lost.

Exact over the whole graph. Hops are counted as in the beam search: a step into unnamed mediators and the step out of it
are one hop, and no path ends at a mediator or continues from a literal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...models.f1 import f1_of
from ..evidence.bridges import to_chains
from ..evidence.evidence import Answer
from ..gold_questions import GoldQuestion
from ..retrieval.beam import is_return_path
from ..values import Entity, RelationPath, RelationStep
from .judging import GoldIdResolver
from .metrics.answers import Prediction, match_predictions
from .record import Miss
from .whole_graph import Nodes, WholeGraph


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


KINDS = (
    "failed",
    "not linked",
    "not in the graph",
    "out of reach",
    "pruned",
    "not the first",
    "lost by the answerer",
)
"""Kinds of misses, in the order of the checks:

failed: an error or a timeout. not linked: the search started from none of the question's topic entities. not in the
graph: no gold answer is in the graph. out of reach: no path within the allowed hops leads from a topic to a gold
answer. pruned: the search dropped such a path at a hop, or did not return it. not the first: a path with a gold answer
was returned, but not first. lost by the answerer: the first path has a gold answer, the first answer is wrong.
"""


class MissDiagnoser:
    """Determine the kinds of misses, exactly over the whole graph."""

    def __init__(self, gold: GoldIdResolver, max_hop: int, *, return_to_topic: bool = False) -> None:
        self.gold = gold
        self._graph = gold.graph
        self._max_hop = max_hop
        self._return_to_topic = return_to_topic

    def miss(self, question: GoldQuestion, answer: Answer) -> Miss:
        """Return the kind of miss of a question whose first answer is wrong or missing."""
        evidence = answer.evidence
        started = [topic.entity.id for topic in evidence.topics]
        wanted = question.topic_ids
        if not started or (wanted and not set(wanted) & set(started)):
            return Miss("not linked")
        gold = [self._graph.numbers[id_] for id_ in self.gold.answers(question)]
        if not gold:
            return Miss("not in the graph")
        for rank, chain in enumerate(to_chains(evidence).items, start=1):
            ends = [Prediction(end.label, end.id) for end in chain.value.ends]
            if any(match_predictions(ends, question.answers)):
                return Miss("lost by the answerer") if rank == 1 else Miss("not the first", rank)
        topics = [self._graph.numbers[id_] for id_ in started if id_ in self._graph.numbers]
        reached = find_reachable_paths(
            self._graph,
            topics,
            np.array(gold, dtype=np.int64),
            self._max_hop,
            return_to_topic=self._return_to_topic,
        )
        if not reached:
            return Miss("out of reach")
        return Miss("pruned", _find_lost_hop(reached, evidence.walked) if evidence.walked else None)


def _find_lost_hop(reached: Sequence[ReachablePath], walked: Sequence[tuple[str, RelationPath]]) -> int:
    """Return the hop at which the search dropped the last of the paths to a gold answer."""
    kept = {(topic, _names(path)) for topic, path in walked}
    farthest = 1
    for found in reached:
        steps = _names(found.relation_path)
        num_kept = next((n for n in range(len(steps), 0, -1) if (found.topic.id, steps[:n]) in kept), 0)
        hops_kept = sum(not step.to_mediator for step in found.relation_path.steps[:num_kept])
        farthest = max(farthest, min(hops_kept + 1, found.relation_path.num_hops))
    return farthest


def _names(path: RelationPath) -> tuple[str, ...]:
    return tuple(map(str, path.steps))
