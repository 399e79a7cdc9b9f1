"""Find the stage at which a gold answer was lost, exactly over the whole graph, which is held in memory.

The engine itself never does that. Hops are counted as in the beam search: a step into unnamed mediators and the step
out of it are one hop, and no path ends at a mediator or continues from a literal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...models.f1 import f1_of
from ..errors import GraphError, UsageError
from ..evidence.bridges import to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import Answer, Evidence, Item
from ..gold_questions import GoldQuestion
from ..neo4j.catalogue import read_catalogue, read_full_state
from ..neo4j.gateway import Gateway
from ..neo4j.whole_graph import relation_ranks, stream_names, stream_triples
from ..retrieval.beam import is_return_path
from ..values import Entity, RelationPath, RelationStep, literal_term
from .metrics import Prediction, match_predictions, normalise_answer

MAX_TRIPLES = 50_000_000
"""Takes about 40 bytes per triple in memory, plus the ids."""

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

    @classmethod
    def read(cls, gateway: Gateway) -> WholeGraph:
        """Read the graph of a database. Raises `GraphError` if it is too large."""
        state = gateway.run_steps(read_full_state())
        state.check()
        if state.num_triples > MAX_TRIPLES:
            raise GraphError(
                f"expected at most {MAX_TRIPLES:,} triples to read a whole graph, found {state.num_triples:,}: "
                "ask with --no-diagnosis"
            )
        names = {row.id: row.name for row in gateway.stream(stream_names())}
        ranks = relation_ranks(relation.name for relation in gateway.run(read_catalogue()).relations)

        def triples() -> Iterable[tuple[Entity, str, Entity]]:
            for head in gateway.stream(stream_triples(ranks)):
                source = Entity(head.head, names.get(head.head))
                for tail in head.tails:
                    end = Entity(tail.tail, names.get(tail.tail))
                    if tail.is_literal:
                        term = literal_term(tail.tail, tail.datatype, tail.language)
                        end = Entity(term, tail.tail, is_literal=True)
                    yield source, tail.relation, end

        return cls.of(triples())

    def read_ids_by_name(self) -> dict[str, list[str]]:
        """Return the ids of the entities by name, in the order of their numbers."""
        found: dict[str, list[str]] = {}
        for entity in self.entities:
            if entity.name:
                found.setdefault(entity.name, []).append(entity.id)
        return found

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


class GoldIdResolver:
    """Find the ids of gold answers in the whole graph."""

    def __init__(self, graph: WholeGraph) -> None:
        self.graph = graph
        self._named = graph.read_ids_by_name()

    def find_by_name(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the entities and literals with one of the names.

        If no name matches exactly, match as for answers: without case, punctuation and articles.
        """
        if exactly := tuple(dict.fromkeys(id_ for name in names for id_ in self._named.get(name, ()))):
            return exactly
        folded = dict.fromkeys(map(normalise_answer, names))
        return tuple(dict.fromkeys(id_ for name in folded for id_ in self._normalised.get(name, ())))

    @cached_property
    def _normalised(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, ids in self._named.items():
            found.setdefault(normalise_answer(name), []).extend(ids)
        return found

    def answers(self, question: GoldQuestion) -> tuple[str, ...]:
        """Return the ids of the gold answers that are in the graph."""
        found = [
            id_
            for answer in question.answers
            for id_ in ((answer.id,) if answer.id else self.find_by_name(answer.names))
            if id_ in self.graph.numbers
        ]
        return tuple(dict.fromkeys(found))


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


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a question is answered wrongly: one of `KINDS`, with the hop of the loss or the rank of the path."""

    kind: str
    place: int | None = None


KINDS = (
    "failed",
    "not linked",
    "not in the graph",
    "out of reach",
    "pruned",
    "not the first",
    "lost by the answerer",
    "in part",
)
"""Kinds of misses, in the order of the checks:

failed: an error or a timeout. not linked: the search started from none of the question's topic entities. not in the
graph: no gold answer is in the graph. out of reach: no path within the allowed hops leads from a topic to a gold
answer. pruned: the search dropped such a path at a hop, or did not return it. not the first: a path with a gold answer
was returned, but not first. lost by the answerer: the first path has a gold answer, the first answer is wrong. in part:
the first answer is right, but others are wrong or missing.
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


ENOUGH_F1 = 0.5
"""From this F1 of its ends on, a path counts as right."""

MARK = " without its relations"
"""Suffix of the id of such a question."""


def exclude_relations(
    questions: Sequence[GoldQuestion], gold: GoldIdResolver, max_hop: int, *, return_to_topic: bool = False
) -> tuple[GoldQuestion, ...]:
    """Return the questions with their relations excluded, in order.

    Questions without a gold answer, or with none within reach of the set's topics, are left out, because they cannot be
    answered anyway. Raises `UsageError` if none is left.
    """
    found = tuple(_ask_without_answers(questions, gold, max_hop, return_to_topic=return_to_topic))
    if not found:
        raise UsageError(
            f"--unanswerable: expected questions with a gold answer within {max_hop} hops of the set's topics, "
            f"found none of {len(questions):,}"
        )
    return found


def _ask_without_answers(
    questions: Sequence[GoldQuestion], gold: GoldIdResolver, max_hop: int, *, return_to_topic: bool
) -> Iterator[GoldQuestion]:
    graph = gold.graph
    for question in questions:
        topics = [graph.numbers[id_] for id_ in dict.fromkeys(question.topic_ids) if id_ in graph.numbers]
        answers = np.array([graph.numbers[id_] for id_ in gold.answers(question)], dtype=np.int64)
        reached = find_reachable_paths(graph, topics, answers, max_hop, return_to_topic=return_to_topic)
        if not reached:
            continue
        least = min(ENOUGH_F1, reached[0].f1)
        right = {step.relation for path in reached if path.f1 >= least for step in path.relation_path.steps}
        annotated = {relation for path in question.paths for relation in path.relations}
        yield replace(
            question,
            id=f"{question.id}{MARK}",
            answers=(),
            paths=(),
            triples=(),
            excluded_relations=frozenset(right | annotated),
        )


def check_excluded(question: GoldQuestion, evidence: Evidence[Item]) -> None:
    """Raise `UsageError` if evidence has a relation that was excluded for its question."""
    for item in evidence.items:
        value = item.value
        used = {step.step.relation for step in value.steps} if isinstance(value, Chain) else {value.relation}
        if used & question.excluded_relations:
            found = min(used & question.excluded_relations)
            raise UsageError(
                f"--unanswerable: {question.id}: the recipe found the excluded {found!r}: "
                "expected a recipe whose search can exclude relations, such as similarity, star or reg-triple"
            )
