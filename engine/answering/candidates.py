"""List the candidate answers in the evidence, with every chain that leads to each.

A *candidate* is a named entity or literal at the end of an item; a topic is one only if a chain ends there. A *way* is
a candidate together with a chain that leads to it. The result is columns for a whole batch; nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..evidence import Calibration, Evidence, Item
from ..evidence.bridges import BatchTriples, enumerate_relation_paths
from ..values import Chain, Entity, RelationStep, Triple

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]

LIMIT = 12.0
"""The bound of log-odds: a probability beyond it counts as 0 or 1."""
LLM, CLOSED_BOOK = "llm", "closed-book"
"""Names of the sources with a language model's answers: what it reads in the evidence, and what it knows itself."""
NO_CHAIN = -1
"""The number of hops of a way without a chain: a triple that is not connected to a topic."""


@dataclass(frozen=True, slots=True, eq=False)
class ChainColumns:
    """The chains of one source, for a batch: (num_chains,) each, questions one after another.

    question, topic: places of the question in the batch and of the topic in the question. steps: in walking order.
    hops: between named entities; `NO_CHAIN` of what stands for triples that no chain reaches. score: log-odds that it
    is right, of triples that of its weakest step. mean: the mean log-odds of its steps. num_ends: what it leads to.
    """

    question: Ints
    topic: Ints
    steps: tuple[tuple[RelationStep, ...], ...]
    hops: Ints
    score: Floats
    mean: Floats
    num_ends: Ints


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSource:
    """One source of evidence about the candidates: its chains and the ways along them.

    candidate, chain: (num_ways,), sorted by candidate. last: log-odds of the last triple that leads there; way: of the
    weakest triple on the best way there; on: of the best triple that leads on from there, −`LIMIT` where none does. Of
    evidence that scores whole chains all but `on` are the chain's.
    """

    name: str
    kind: str
    chains: ChainColumns
    candidate: Ints
    chain: Ints
    last: Floats
    way: Floats
    on: Floats


@dataclass(frozen=True, slots=True, eq=False)
class AnswerCandidates:
    """The candidates of a batch: those of question q from starts[q] to starts[q + 1], sorted by id.

    entities: (num_candidates,). question: (num_candidates,). sources: in the order of the recipe. num_topics:
    (num_questions,).
    """

    entities: tuple[Entity, ...]
    question: Ints
    starts: Ints
    sources: tuple[CandidateSource, ...]
    num_topics: Ints


def find_candidates(evidence: Sequence[Evidence[Item]]) -> AnswerCandidates:
    """Return the candidates of each question's evidence, from all of its sources.

    If several retrievers were joined, each is a source. Only ends that are still among the evidence's items are
    candidates, so that a filter removes candidates, too.
    """
    by_source: dict[str, list[tuple[int, Evidence[Item]]]] = {}
    for question, each in enumerate(evidence):
        for name, found in each.sources_or_self(each.kind) if each.trace.sources or each.items else ():
            by_source.setdefault(name, []).append((question, found))
    read = [_UnnumberedSource.of(name, found) for name, found in by_source.items()]
    kept = [{end.id for end in list_ends(each)} for each in evidence]
    numbers: dict[tuple[int, str], Entity] = {}
    for source in read:
        for question, entity in zip(source.question, source.entity, strict=True):
            if entity.id in kept[question]:
                numbers.setdefault((question, entity.id), entity)
    order = {key: place for place, key in enumerate(sorted(numbers))}
    questions = np.array([key[0] for key in order], dtype=np.int64)
    return AnswerCandidates(
        tuple(numbers[key] for key in order),
        questions,
        np.searchsorted(questions, np.arange(len(evidence) + 1)),
        tuple(source.number_candidates(order) for source in read),
        np.array([len(each.topics) for each in evidence], dtype=np.int64),
    )


def list_ends(evidence: Evidence[Item]) -> Sequence[Entity]:
    """Return the ends of the evidence's items, the best item's first; both entities of a triple are ends."""
    found: dict[Entity, None] = {}
    for each in evidence.items:
        item = each.value
        found |= dict.fromkeys(item.ends if isinstance(item, Chain) else (item.head, item.tail))
    return list(found)


def compute_log_odds(scores: Sequence[float], calibration: Calibration | None) -> Floats:
    """Return the log-odds of scores, best first, within ± `LIMIT`; without a calibration minus ln(1 + rank).

    Of probabilities those are within 10⁻⁶ of 0 and 1.
    """
    values: Floats = np.array(scores)
    if calibration is None:
        return -np.log1p(np.arange(len(values)))
    if calibration.unit == "probability":
        inside = np.clip(values, 1e-6, 1 - 1e-6)
        return np.log(inside) - np.log1p(-inside)
    return np.clip(calibration.slope * values + calibration.intercept, -LIMIT, LIMIT)


@dataclass(slots=True)
class _UnnumberedSource:
    """A source before its candidates are numbered; each way has its question and entity."""

    name: str
    kind: str
    chains: ChainColumns
    question: list[int]
    entity: list[Entity]
    chain: Ints
    last: Floats
    way: Floats
    on: Floats

    @classmethod
    def of(cls, name: str, found: Sequence[tuple[int, Evidence[Item]]]) -> _UnnumberedSource:
        kind = found[0][1].kind
        return _read_triples(name, found) if kind == "triple" else _read_chains(name, found)

    def number_candidates(self, order: dict[tuple[int, str], int]) -> CandidateSource:
        """Return the ways to candidates, sorted by candidate and chain."""
        of = np.array(
            [order.get((q, e.id), -1) for q, e in zip(self.question, self.entity, strict=True)], dtype=np.int64
        )
        rows = np.lexsort((self.chain, of))
        rows = rows[of[rows] >= 0]
        last, way, on = self.last[rows], self.way[rows], self.on[rows]
        return CandidateSource(self.name, self.kind, self.chains, of[rows], self.chain[rows], last, way, on)


def _read_chains(name: str, found: Sequence[tuple[int, Evidence[Item]]]) -> _UnnumberedSource:
    question: list[int] = []
    topic: list[int] = []
    steps: list[tuple[RelationStep, ...]] = []
    score: list[float] = []
    num_ends: list[int] = []
    ways: list[tuple[int, Entity, int]] = []
    goes_on: list[float] = []
    for place, evidence in found:
        values = compute_log_odds([each.score for each in evidence.items], evidence.calibration)
        topics = {each.entity: number for number, each in reversed(list(enumerate(evidence.topics)))}
        longer: dict[tuple[int, tuple[RelationStep, ...]], float] = {}
        keys = []
        for each, value in zip(evidence.items, values.tolist(), strict=True):
            chain = each.value
            assert isinstance(chain, Chain)
            path = chain.relation_path.steps
            start = topics.get(chain.topic, 0)
            keys.append((start, path))
            for end in range(1, len(path)):
                before = (start, path[:end])
                longer[before] = max(longer.get(before, -LIMIT), value)
        for each, value, key in zip(evidence.items, values.tolist(), keys, strict=True):
            chain = each.value
            assert isinstance(chain, Chain)
            ends = [end for end in chain.ends if not end.is_mediator]
            ways += [(place, end, len(steps)) for end in ends]
            goes_on += [longer.get(key, -LIMIT)] * len(ends)
            question.append(place)
            topic.append(key[0])
            steps.append(key[1])
            score.append(value)
            num_ends.append(len(ends))
    scores = np.array(score)
    chains = ChainColumns(
        np.array(question, dtype=np.int64),
        np.array(topic, dtype=np.int64),
        tuple(steps),
        np.array([sum(not step.to_mediator for step in path) for path in steps], dtype=np.int64),
        scores,
        scores,
        np.array(num_ends, dtype=np.int64),
    )
    of = np.array([chain for _, _, chain in ways], dtype=np.int64)
    entities = [entity for _, entity, _ in ways]
    values = scores[of]
    questions = [place for place, _, _ in ways]
    return _UnnumberedSource(name, "chain", chains, questions, entities, of, values, values, np.array(goes_on))


def _read_triples(name: str, found: Sequence[tuple[int, Evidence[Item]]]) -> _UnnumberedSource:
    given = []
    for _, evidence in found:
        values = compute_log_odds([each.score for each in evidence.items], evidence.calibration).tolist()
        triples = [each.value for each in evidence.items if isinstance(each.value, Triple)]
        given.append((triples, values, [topic.entity for topic in evidence.topics]))
    columns = BatchTriples.of(given)
    levels = enumerate_relation_paths(columns)
    places = np.array([place for place, _ in found])
    is_mediator = np.array([each.is_mediator for each in columns.entities], dtype=np.bool_)
    may_answer = ~is_mediator
    may_answer[columns.topics] = False
    topic_place = _number_within_groups(columns.question_of[columns.topics])

    parts: list[list[Numbers]] = [[] for _ in range(6)]
    steps: list[tuple[RelationStep, ...]] = []
    before: list[tuple[RelationStep, ...]] = [()] * len(columns.topics)
    way_parts: list[list[Numbers]] = [[] for _ in range(5)]
    reached = np.zeros(len(columns.entities), dtype=np.bool_)
    passed = np.zeros(len(columns.topics))
    offset = 0
    for number, level in enumerate(levels):
        through = np.ones(level.num_paths, dtype=np.bool_)
        np.logical_and.at(through, level.link_path, is_mediator[level.link_target])
        made = [
            (*before[p], RelationStep(s.relation, s.inverse, to_mediator=bool(m)))
            for p, s, m in zip(
                level.parent.tolist(), map(columns.step, level.code.tolist()), through.tolist(), strict=True
            )
        ]
        passed = passed[level.parent] + ~through
        good = may_answer[level.end_node]
        ends = np.bincount(level.end_path[good], minlength=level.num_paths)
        node = columns.topics[level.topic]
        rows = [
            places[columns.question_of[node]],
            topic_place[level.topic],
            passed,
            level.weakest,
            level.total / (number + 1),
            ends,
        ]
        for part, values in zip(parts, rows, strict=True):
            part.append(values)
        ways = (level.end_node, level.end_path + offset, level.end_last, level.end_way, level.end_on)
        for part, values in zip(way_parts, ways, strict=True):
            part.append(values[good])
        reached[level.end_node] = True
        steps += made
        before = made
        offset += level.num_paths
    _add_loose(columns, places, may_answer & ~reached, parts, way_parts, steps, offset)
    chains = _make_chains([np.concatenate(each) for each in parts], tuple(steps))
    node, chain = (np.concatenate(each).astype(np.int64) for each in way_parts[:2])
    last, way, on = (np.clip(np.concatenate(each).astype(np.float64), -LIMIT, LIMIT) for each in way_parts[2:])
    question = places[columns.question_of[node]].tolist()
    entities = [columns.entities[each] for each in node.tolist()]
    return _UnnumberedSource(name, "triple", chains, question, entities, chain, last, way, on)


def _add_loose(
    columns: BatchTriples,
    places: Ints,
    loose: npt.NDArray[np.bool_],
    parts: list[list[Numbers]],
    way_parts: list[list[Numbers]],
    steps: list[tuple[RelationStep, ...]],
    offset: int,
) -> None:
    """Add entities that triples name but no chain reaches, as one chain without steps per question."""
    touched = np.full(len(columns.entities), -np.inf)
    np.maximum.at(touched, columns.heads, columns.scores)
    np.maximum.at(touched, columns.tails, columns.scores)
    nodes = np.flatnonzero(loose)
    questions, of = np.unique(columns.question_of[nodes], return_inverse=True)
    best = np.full(len(questions), -np.inf)
    np.maximum.at(best, of, touched[nodes])
    zero = np.zeros(len(questions))
    rows = [places[questions], zero, zero + NO_CHAIN, best, best, np.bincount(of)]
    for part, values in zip(parts, rows, strict=True):
        part.append(values)
    steps += [()] * len(questions)
    ways = (nodes, of + offset, touched[nodes], touched[nodes], np.full(len(nodes), -LIMIT))
    for part, values in zip(way_parts, ways, strict=True):
        part.append(values)


def _make_chains(columns: Sequence[Numbers], steps: tuple[tuple[RelationStep, ...], ...]) -> ChainColumns:
    question, topic, hops, num_ends = (columns[place].astype(np.int64) for place in (0, 1, 2, 5))
    score, mean = (np.clip(columns[place].astype(np.float64), -LIMIT, LIMIT) for place in (3, 4))
    return ChainColumns(question, topic, steps, hops, score, mean, num_ends)


def _number_within_groups(groups: Ints) -> Ints:
    """Return the place of each row in its group, of groups that follow one another."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)
