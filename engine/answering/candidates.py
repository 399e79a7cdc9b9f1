"""List the candidate answers in the evidence, with every chain that leads to each.

A *candidate* is a named entity or literal at the end of an item; a topic is one only if a chain ends there. A *way* is
a candidate together with a chain that leads to it. The result is columns for a whole batch; nothing is chosen here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...models.reader import SourceChainColumns
from ..data_model import Chain, Entity, RelationStep, Scored, Triple
from ..evidence import Calibration, Evidence, Item
from ..evidence.conversion import GroundedRelationPath, find_relation_paths

if TYPE_CHECKING:
    from ..context import Database

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LIMIT = 12.0
"""The bound of log-odds: a probability beyond it counts as 0 or 1."""
LLM, CLOSED_BOOK = "llm", "closed-book"
"""Names of the sources with a language model's answers: what it reads in the evidence, and what it knows itself."""
NO_CHAIN = -1
"""The number of hops of a way without a chain: a triple that is not connected to a topic."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSource:
    """One source of evidence about the candidates: its chains and the ways along them, as columns.

    steps: of each chain, in walking order. columns: without what words say of the chains. Score, last, way and on are
    log-odds: that the chain is right (of triples that of its weakest step); of the last triple that leads to the
    candidate; of the weakest triple on the best way there; of the best triple that leads on from there, −`LIMIT` where
    none does. Of evidence that scores whole chains all but `on` are the chain's.
    """

    name: str
    kind: str
    steps: tuple[tuple[RelationStep, ...], ...]
    columns: SourceChainColumns


@dataclass(frozen=True, slots=True, eq=False)
class AnswerCandidates:
    """The candidates of a batch: those of question q from starts[q] to starts[q + 1], sorted by id.

    entities: (num_candidates,). question: (num_candidates,). sources: in the order of the recipe.
    """

    entities: tuple[Entity, ...]
    question: Ints
    starts: Ints
    sources: tuple[CandidateSource, ...]


def find_candidates(db: Database, evidence: Sequence[Evidence[Item]]) -> AnswerCandidates:
    """Return the candidates of each question's evidence, from all of its sources.

    The paths that triples make are found by one round trip for all. Of retrievers that were joined each is a source.
    Only ends that are still among the evidence's items are candidates, so that a filter removes candidates, too.
    """
    sources: dict[str, _SourceRows] = {}
    found: list[tuple[int, str, Evidence[Item]]] = []
    asked: list[tuple[list[Scored[Triple]], list[Entity]]] = []
    for question, each in enumerate(evidence):
        for name, source in each.sources_or_self(each.kind) if each.trace.sources or each.items else ():
            values = _compute_log_odds([item.score for item in source.items], source.calibration).tolist()
            scored = [replace(item, score=value) for item, value in zip(source.items, values, strict=True)]
            found.append((question, name, replace(source, items=tuple(scored))))
            triples = [Scored(item.value, item.score) for item in scored if isinstance(item.value, Triple)]
            asked.append((triples, list(dict.fromkeys(topic.entity for topic in source.topics))))
    for (question, name, source), (triples, _), paths in zip(found, asked, find_relation_paths(db, asked), strict=True):
        topics = {each.entity: number for number, each in reversed(list(enumerate(source.topics)))}
        rows = sources.setdefault(name, _SourceRows(source.kind))
        if source.kind == "triple":
            rows.add_triples(question, topics, triples, paths)
        else:
            rows.add_chains(question, topics, source.chains)
    kept = [{end.id for end in list_end_entities(each)} for each in evidence]
    numbers: dict[tuple[int, str], Entity] = {}
    for source in sources.values():
        for way in source.ways:
            if way.entity.id in kept[way.question]:
                numbers.setdefault((way.question, way.entity.id), way.entity)
    order = {key: place for place, key in enumerate(sorted(numbers))}
    questions = np.array([key[0] for key in order], dtype=np.int64)
    num_topics = np.array([len(each.topics) for each in evidence], dtype=np.int64)
    return AnswerCandidates(
        tuple(numbers[key] for key in order),
        questions,
        np.searchsorted(questions, np.arange(len(evidence) + 1)),
        tuple(source.columns(name, order, num_topics) for name, source in sources.items()),
    )


def list_end_entities(evidence: Evidence[Item]) -> Sequence[Entity]:
    """Return the ends of the evidence's items, the best item's first; both entities of a triple are ends."""
    found: dict[Entity, None] = {}
    for each in evidence.items:
        item = each.value
        found |= dict.fromkeys(item.ends if isinstance(item, Chain) else (item.head, item.tail))
    return list(found)


def _compute_log_odds(scores: Sequence[float], calibration: Calibration | None) -> Floats:
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
class _PathEnd:
    """How a path reaches an end: by its best triple (`last`), and by the best way there (`way`, its lowest score).

    on: the score of the best triple that leads on from there, −∞ where none does.
    """

    last: float
    way: float
    on: float = float("-inf")


def _measure_ends(paths: Sequence[GroundedRelationPath], scores: Sequence[float]) -> list[dict[Entity, _PathEnd]]:
    """Return how each path reaches each of its ends; scores: of the triples that the paths are made of."""
    found: list[dict[Entity, _PathEnd]] = []
    for path in paths:
        before = {path.topic: _PathEnd(math.inf, math.inf)} if path.parent is None else found[path.parent]
        ends: dict[Entity, _PathEnd] = {}
        for (source, end), triple in zip(path.steps[-1].links, path.walked[-1], strict=True):
            score, start = scores[triple], before[source]
            start.on = max(start.on, score)
            known = ends.setdefault(end, _PathEnd(score, min(start.way, score)))
            known.last, known.way = max(known.last, score), max(known.way, min(start.way, score))
        found.append(ends)
    return found


class _ChainRow(NamedTuple):
    question: int
    topic: int
    steps: tuple[RelationStep, ...]
    hops: int
    score: float
    mean: float
    num_ends: int


class _WayRow(NamedTuple):
    question: int
    entity: Entity
    chain: int
    last: float
    way: float
    on: float


@dataclass(slots=True)
class _SourceRows:
    """A source row by row, before its candidates are numbered."""

    kind: str
    chains: list[_ChainRow] = field(default_factory=list)
    ways: list[_WayRow] = field(default_factory=list)

    def _add_chain(
        self,
        question: int,
        topic: int,
        steps: tuple[RelationStep, ...],
        score: float,
        mean: float,
        ends: Mapping[Entity, _PathEnd],
        hops: int | None = None,
    ) -> None:
        hops = sum(not step.to_mediator for step in steps) if hops is None else hops
        self.ways += (_WayRow(question, end, len(self.chains), at.last, at.way, at.on) for end, at in ends.items())
        self.chains.append(_ChainRow(question, topic, steps, hops, score, mean, len(ends)))

    def add_chains(self, question: int, topics: Mapping[Entity, int], chains: Sequence[Scored[Chain]]) -> None:
        """Add the chains of one question, scored by log-odds."""
        longer: dict[tuple[int, tuple[RelationStep, ...]], float] = {}
        keys = [(topics.get(each.value.topic, 0), each.value.relation_path.steps) for each in chains]
        for (start, path), each in zip(keys, chains, strict=True):
            for end in range(1, len(path)):
                longer[start, path[:end]] = max(longer.get((start, path[:end]), -LIMIT), each.score)
        for key, each in zip(keys, chains, strict=True):
            at = _PathEnd(each.score, each.score, longer.get(key, -LIMIT))
            ends = {end: at for end in each.value.ends if not end.is_mediator}
            self._add_chain(question, *key, each.score, each.score, ends)

    def add_triples(
        self,
        question: int,
        topics: Mapping[Entity, int],
        triples: Sequence[Scored[Triple]],
        paths: Sequence[GroundedRelationPath],
    ) -> None:
        """Add the chains that the triples make, and as one chain without steps what no chain reaches."""
        reached: set[Entity] = set()
        for path, reaches in zip(paths, _measure_ends(paths, [each.score for each in triples]), strict=True):
            reached.update(reaches)
            ends = {end: at for end, at in reaches.items() if not end.is_mediator and end not in topics}
            steps = tuple(each.step for each in path.steps)
            best = [max(triples[triple].score for triple in step) for step in path.walked]
            self._add_chain(question, topics[path.topic], steps, min(best), sum(best) / len(steps), ends)
        loose: dict[Entity, _PathEnd] = {}
        for each in triples:
            for end in (each.value.head, each.value.tail):
                if not end.is_mediator and end not in topics and end not in reached:
                    known = loose.setdefault(end, _PathEnd(each.score, each.score))
                    known.last = known.way = max(known.last, each.score)
        if loose:
            best = max(at.last for at in loose.values())
            self._add_chain(question, 0, (), best, best, loose, NO_CHAIN)

    def columns(self, name: str, order: Mapping[tuple[int, str], int], num_topics: Ints) -> CandidateSource:
        """Return the source with the candidates' numbers in the place of questions and ids."""
        numbered = ((order.get((way.question, way.entity.id), -1), *way[2:]) for way in self.ways)
        ways = sorted(way for way in numbered if way[0] >= 0)
        columns: dict[str, Any] = dict(zip(_ChainRow._fields, _transpose(self.chains, 7), strict=True))
        columns |= zip(("candidate", *_WayRow._fields[2:]), _transpose(ways, 5), strict=True)
        steps = tuple(columns.pop("steps"))
        for each, column in columns.items():
            values = np.array(column, dtype=np.float64 if each in _LOG_ODDS else np.int64)
            columns[each] = np.clip(values, -LIMIT, LIMIT) if each in _LOG_ODDS else values
        found = SourceChainColumns(**columns, num_topics=num_topics, num_candidates=len(order))
        return CandidateSource(name, self.kind, steps, found)


_LOG_ODDS = ("score", "mean", "last", "way", "on")


def _transpose(rows: Sequence[tuple[Any, ...]], width: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width
