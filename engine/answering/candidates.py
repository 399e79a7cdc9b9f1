"""List the candidate answers in the evidence, with every chain that leads to each.

A *candidate* is a named entity or literal at the end of an item; a topic is one only if a chain ends there. A *way* is
a candidate together with a chain that leads to it. The result is columns for a whole batch; nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...models.reader import SourceChainColumns
from ..data_model import Chain, Entity, RelationStep, Scored, Triple
from ..evidence import Calibration, Evidence, Item
from ..evidence.chains_and_triples import GroundedRelationPath, find_paths_through_triples

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

    steps: of each chain, in walking order. columns: without what words say of the chains. Score and last are log-odds:
    that the chain is right (of triples that of its weakest step); of the best last triple that leads to the candidate,
    or the chain's. Stops is 1 where no chain leads on from the candidate.
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
    for (question, name, source), (triples, _), paths in zip(
        found, asked, find_paths_through_triples(db, asked), strict=True
    ):
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


class _ChainRow(NamedTuple):
    question: int
    topic: int
    steps: tuple[RelationStep, ...]
    hops: int
    score: float
    num_ends: int


class _WayRow(NamedTuple):
    question: int
    entity: Entity
    chain: int
    last: float
    stops: bool


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
        ends: Mapping[Entity, float],
        onward: Container[Entity],
        hops: int | None = None,
    ) -> None:
        hops = sum(not step.to_mediator for step in steps) if hops is None else hops
        self.ways += (_WayRow(question, end, len(self.chains), last, end not in onward) for end, last in ends.items())
        self.chains.append(_ChainRow(question, topic, steps, hops, score, len(ends)))

    def add_chains(self, question: int, topics: Mapping[Entity, int], chains: Sequence[Scored[Chain]]) -> None:
        """Add the chains of one question, scored by log-odds."""
        keys = [(topics.get(each.value.topic, 0), each.value.relation_path.steps) for each in chains]
        longer = {(topic, steps[:end]) for topic, steps in keys for end in range(1, len(steps))}
        for key, each in zip(keys, chains, strict=True):
            ends = {end: each.score for end in each.value.ends if not end.is_mediator}
            self._add_chain(question, *key, each.score, ends, ends if key in longer else ())

    def add_triples(
        self,
        question: int,
        topics: Mapping[Entity, int],
        triples: Sequence[Scored[Triple]],
        paths: Sequence[GroundedRelationPath],
    ) -> None:
        """Add the chains that the triples make, and as one chain without steps what no chain reaches."""
        reached: set[Entity] = set()
        onward: list[set[Entity]] = [set() for _ in paths]
        for path in paths:
            if path.parent is not None:
                onward[path.parent].update(source for source, _ in path.steps[-1].links)
        for path, left in zip(paths, onward, strict=True):
            ends: dict[Entity, float] = {}
            for (_, end), triple in zip(path.steps[-1].links, path.walked[-1], strict=True):
                reached.add(end)
                if not end.is_mediator and end not in topics:
                    ends[end] = max(ends.get(end, -LIMIT), triples[triple].score)
            steps = tuple(each.step for each in path.steps)
            weakest = min(max(triples[triple].score for triple in step) for step in path.walked)
            self._add_chain(question, topics[path.topic], steps, weakest, ends, left)
        loose: dict[Entity, float] = {}
        for each in triples:
            for end in (each.value.head, each.value.tail):
                if not end.is_mediator and end not in topics and end not in reached:
                    loose[end] = max(loose.get(end, -LIMIT), each.score)
        if loose:
            self._add_chain(question, 0, (), max(loose.values()), loose, (), NO_CHAIN)

    def columns(self, name: str, order: Mapping[tuple[int, str], int], num_topics: Ints) -> CandidateSource:
        """Return the source with the candidates' numbers in the place of questions and ids."""
        numbered = ((order.get((way.question, way.entity.id), -1), *way[2:]) for way in self.ways)
        ways = sorted(way for way in numbered if way[0] >= 0)
        columns: dict[str, Any] = dict(zip(_ChainRow._fields, _transpose(self.chains, 6), strict=True))
        columns |= zip(("candidate", *_WayRow._fields[2:]), _transpose(ways, 4), strict=True)
        steps = tuple(columns.pop("steps"))
        for each, column in columns.items():
            values = np.array(column, dtype=np.float64 if each in _LOG_ODDS else np.int64)
            columns[each] = np.clip(values, -LIMIT, LIMIT) if each in _LOG_ODDS else values
        found = SourceChainColumns(**columns, num_topics=num_topics, num_candidates=len(order))
        return CandidateSource(name, self.kind, steps, found)


_LOG_ODDS = ("score", "last")


def _transpose(rows: Sequence[tuple[Any, ...]], width: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width
