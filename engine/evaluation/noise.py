"""Insert hard negative paths into evidence, to measure how filters handle noise.

GraphRAG-FI (section 5) injects noise too, but its published code prepends fixed strings about other topics. Ours is
hard: half of the paths have a topic of the question and a relation that no evidence begins with, the others have a
relation that the evidence begins with and another entity.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..evidence.chain import Chain, ChainStep
from ..evidence.evidence import Evidence, Item, Kind
from ..steps import Steps
from ..values import Entity, RelationPath, RelationStep, Scored, Triple
from .whole_graph import Nodes, WholeGraph

MAX_LINKED_ENDS = 2_000
"""The most ends of a chain that have their triples, as in the search in the database."""


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
    """Return the relations of a shortest path, given all nodes' distances from the topic; ties: smallest number."""
    steps: list[RelationStep] = []
    node = end
    while node != topic:
        _, numbers, targets = graph.steps_from(np.array([node], dtype=np.int64))
        nearer = np.flatnonzero(distances[targets] == distances[node] - 1)
        order = np.lexsort((numbers[nearer], targets[nearer]))
        at = nearer[order[0]]
        number = -int(numbers[at])
        steps.append(RelationStep(graph.relations[abs(number)], number < 0, bool(graph.is_mediator[node])))
        node = int(targets[at])
    return RelationPath(tuple(reversed(steps)))


def distances_from(graph: WholeGraph, node: int, farthest: int) -> Nodes:
    """Return the number of steps from a node to every node; `farthest` + 1 for more distant nodes."""
    levels = graph.within(np.array([node], dtype=np.int64), farthest)
    distances: Nodes = (farthest + 1) - np.sum(levels, axis=0)
    return distances


def _number(graph: WholeGraph, step: RelationStep) -> int:
    number = graph.relation_numbers[step.relation]
    return -number if step.inverse else number


TRIES_A_PATH = 20
MAX_ENDS = 20
"""Most ends of a noise path."""


class NoiseInjector:
    """A `Reorganiser` of chains or triples that inserts `num` noise items into each question's evidence.

    None of them leads to a gold answer (`gold`: ids by question id). Each has the score and the group of the item it
    precedes, so that no score reveals it. The same seed and question give the same noise, and less noise is a subset of
    more noise.
    """

    takes: Kind | None = None
    gives: Kind | None = None

    def __init__(self, graph: WholeGraph, gold: Mapping[str, Sequence[str]], num: int, seed: int) -> None:
        self._graph = graph
        self._gold = gold
        self._num = num
        self._seed = seed

    def reorganise(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Evidence[Item]]]:
        """Return the evidence with noise."""
        yield from ()
        return [self._inject(each) for each in evidence]

    def _inject(self, evidence: Evidence[Item]) -> Evidence[Any]:
        if not evidence.items:
            return evidence
        digest = hashlib.sha256(f"{self._seed}\n{evidence.question.id}\n{evidence.question.text}".encode()).digest()
        random_state = random.Random(digest)  # noqa: S311 - no secret
        known: set[Item] = {item.value for item in evidence.items}
        items = [(item, evidence.group(place)) for place, item in enumerate(evidence.items)]
        wanted = len(items) + self._num
        for chain in self._hard_negatives(evidence, random_state):
            piece = chain if evidence.kind == "chain" else _a_triple(chain, random_state)
            if piece not in known:
                known.add(piece)
                place = random_state.randint(0, len(items))
                neighbour, group = items[min(place, len(items) - 1)]
                items.insert(place, (Scored(piece, neighbour.score), group))
            if len(items) == wanted:
                break
        groups = tuple(group for _, group in items) if evidence.groups else ()
        return replace(evidence, items=tuple(item for item, _ in items), groups=groups)

    def _hard_negatives(self, evidence: Evidence[Item], random_state: random.Random) -> Iterator[Chain]:
        """Yield alternately wrong relations of the topics and wrong entities of the evidence's relations."""
        graph = self._graph
        gold = {graph.numbers[id_] for id_ in self._gold.get(evidence.question.id, ())}
        topics = [graph.numbers[t.entity.id] for t in evidence.topics if t.entity.id in graph.numbers]
        begun = sorted(self._first_steps(evidence))
        _, steps, _ = graph.steps_from(np.array(topics, dtype=np.int64))
        others = [step for step in np.unique(steps).tolist() if step not in begun]
        for number in range(TRIES_A_PATH * self._num):
            if number % 2 == 0 and others:
                start, step = random_state.choice(topics), random_state.choice(others)
            elif begun:
                step = random_state.choice(begun)
                start = self._another_entity(step, random_state)
            else:
                continue
            if start not in gold and (chain := self._chain(start, step, gold)):
                yield chain

    def _first_steps(self, evidence: Evidence[Item]) -> set[int]:
        """Return the steps that items begin with, negative if inverse; for a triple, its relation."""
        numbers = self._graph.relation_numbers
        topics = {topic.entity for topic in evidence.topics}
        begun: set[int] = set()
        for item in evidence.items:
            if isinstance(item.value, Chain):
                step = item.value.steps[0].step
                begun.add(numbers.get(step.relation, 0) * (-1 if step.inverse else 1))
            else:
                begun.add(numbers.get(item.value.relation, 0) * (-1 if item.value.tail in topics else 1))
        return begun - {0}

    def _another_entity(self, step: int, random_state: random.Random) -> int:
        """Return a random entity that the step leads on from."""
        graph = self._graph
        edge = random_state.choice(np.flatnonzero(graph.steps == step).tolist())
        return int(np.searchsorted(graph.starts, edge, side="right") - 1)

    def _chain(self, start: int, step: int, gold: set[int]) -> Chain | None:
        """Return the path of this one step, None if it leads to a gold answer or to no named entity."""
        graph = self._graph
        _, steps, targets = graph.steps_from(np.array([start], dtype=np.int64))
        reached = targets[steps == step].tolist()
        ends = [graph.entities[node] for node in reached if not graph.is_mediator[node]]
        if not ends or gold.intersection(reached):
            return None
        relation_path = RelationPath((RelationStep(graph.relations[abs(step)], step < 0),))
        return chain_of(graph, start, relation_path, ends[:MAX_ENDS])


def _a_triple(chain: Chain, random_state: random.Random) -> Triple:
    return random_state.choice(chain.triples()[0])
