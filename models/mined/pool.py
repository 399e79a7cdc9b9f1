"""Candidate pools (ReG, section 4.1): for each question the chains among which its supervision is chosen.

A file of them is one of the mined files. A chain stands for all paths with its relations from its start; the triples
that it stands for are those on the walks of its steps in the question's subgraph (`models.reg.supervised`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ..training.decoding import decoded
from ..training.description import QuestionKey, TrainedOn
from .lines import read_lines, write_lines

KIND = "pool"
AGAIN = "mine the pool again"
MAX_STEPS = 4
"""Of a shortest path in a pool."""

ChainKind = Literal["path", "query", "answer"]
HowChosen = Literal["", "refined", "unrefined"]
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class PoolChain:
    """A candidate: the relations that lead on from a start, ``^`` before one that is walked from tail to head.

    kind: `path`, a shortest path from a topic to an answer; `query`, a relation of a topic; `answer`, one of the
    representative answer. start: the id it starts at. names: of the entities on one of its paths, one more than there
    are steps. count: paths that it stands for, at least.
    """

    kind: ChainKind
    start: str
    steps: tuple[str, ...]
    names: tuple[str, ...]
    count: Count = 1


@dataclass(frozen=True, slots=True)
class PooledQuestion:
    """A question with its candidates. answer: id of the representative one, on which chains of kind `path` end.

    num_raw: candidates before answers and chains were merged. cut: the bounds that left something out. chosen: numbers
    of the chains that are its supervision, and `how` they were chosen: refined, or all shortest paths (`unrefined`)
    where nothing else could be had; "" where nobody has chosen yet.
    """

    id: str
    text: str
    topics: tuple[str, ...]
    answer: str
    chains: tuple[PoolChain, ...]
    num_raw: Count
    cut: tuple[str, ...] = ()
    chosen: tuple[Count, ...] = ()
    how: HowChosen = ""

    @property
    def weak(self) -> tuple[int, ...]:
        """The numbers of the shortest paths: weak supervision."""
        return tuple(number for number, chain in enumerate(self.chains) if chain.kind == "path")

    @property
    def supervision(self) -> tuple[PoolChain, ...]:
        """The chains that were chosen, where nobody has chosen the shortest paths."""
        return tuple(self.chains[number] for number in (self.chosen if self.how else self.weak))


@dataclass(frozen=True, slots=True)
class PoolHeader:
    """What a pool was made from: question set, graph (fingerprint of its catalogue), bounds; and what refined it.

    refiner: in words, as a language model's name or a scorer's; "" of a pool that is not refined.
    """

    questions: str
    questions_sha256: str
    graph: str
    refiner: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pool:
    """A file of candidate pools in memory. sha256: of its content, unpacked."""

    header: PoolHeader
    questions: tuple[PooledQuestion, ...]
    sha256: str = ""

    @property
    def trained_on(self) -> TrainedOn:
        """What a checkpoint says of it."""
        header = self.header
        return TrainedOn(
            header.questions, header.questions_sha256, self.sha256, header.graph, len(self.questions), MAX_STEPS
        )

    @property
    def question_keys(self) -> list[QuestionKey]:
        """Id, text and topics of each question."""
        return [(each.id, each.text, frozenset(each.topics)) for each in self.questions]

    def refined(self, questions: Sequence[PooledQuestion], refiner: str, counts: Mapping[str, int]) -> Pool:
        """Return the pool with what was chosen, and how often what happened."""
        header = replace(self.header, refiner=refiner, counts={**self.header.counts, **counts})
        return Pool(header, tuple(questions))


def supervision_of(pools: Sequence[Pool]) -> str:
    """Return what chose the right chains of these pools, in words."""
    names = (f"refined by {pool.header.refiner}" if pool.header.refiner else "weak" for pool in pools)
    return ", ".join(dict.fromkeys(names))


def write_pool(path: Path, pool: Pool) -> None:
    """Write the file, whole or not at all."""
    write_lines(path, {"kind": KIND, **asdict(pool.header)}, pool.questions)


def read_pool(path: Path) -> Pool:
    """Return what `write_pool` wrote; raise `MinedFileError` for a file that is missing, damaged or another."""
    return Pool(*read_lines(path, _header, PooledQuestion, _checked, what="candidate pool", again=AGAIN))


def _header(said: Mapping[str, Any]) -> PoolHeader:
    if said.get("kind") != KIND:
        raise ValueError(f"kind {KIND} in the first line")
    return decoded(PoolHeader, json.dumps({name: value for name, value in said.items() if name != "kind"}))


def _checked(question: PooledQuestion, _header: PoolHeader) -> PooledQuestion:
    for chain in question.chains:
        if not chain.steps or len(chain.names) != len(chain.steps) + 1:
            raise ValueError("a chain has steps, and a name more than steps")
        if len(chain.steps) > 2 * MAX_STEPS:
            raise ValueError(f"a chain has at most {2 * MAX_STEPS} steps, found {len(chain.steps):,}")
        if chain.kind != "answer" and chain.start not in question.topics:
            raise ValueError("a chain starts at a topic of its question, or at its answer")
    if any(number >= len(question.chains) for number in question.chosen):
        raise ValueError("what was chosen is one of the chains")
    return question
