"""Read and write mined training data: the paths that hard path mining found for each question.

The file format is that of `models.mined`: the first line describes the file (`MinedFileOrigin`), every other line is a
question (`MinedQuestion`). Paths are written in walking order. A hop is a relation, with ``^`` before it if it is
inverse (tail to head), or the relations into an unnamed mediator and out of it with `THROUGH` between them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, FiniteFloat
from typing_extensions import TypeAliasType

from ..f1 import f1_of
from ..mined import header_of, read_lines, write_mined_records
from ..ranges import Range, Share
from ..text.verbalise import DirectedRelation, Hop, RelationWords
from ..training.kind import QuestionKey, TrainingDataRecord, decode_dataclass

THROUGH = " → "
INVERSE = "^"

MAX_HOP = 8


Hops = tuple[str, ...]
"""A relation path, hop by hop as it is written."""

if TYPE_CHECKING:
    PathTrie = Mapping[str, "PathTrie"]
else:  # pydantic needs a named type for recursion, which mypy does not know
    PathTrie = TypeAliasType("PathTrie", Mapping[str, "PathTrie"])
"""The relation paths that leave a topic, as a trie: each hop with the hops that can follow it. A path may end at any
node.
"""


@dataclass(frozen=True, slots=True)
class MinedTopic:
    """A topic entity; `mention` is its name in the question."""

    id: str
    mention: str


@dataclass(frozen=True, slots=True)
class AnswerPath:
    """A relation path from a topic to at least one right answer.

    precision: right ends / ends. recall: right ends / right answers. similarity: cosine of the question and the
    verbalised path. shortest: no path from this topic to an answer is shorter. gold: an annotator wrote this path.
    positive: it is a training example (STAR, section 4.1: shortest, and similarity of at least the mean over the
    question's shortest paths; if there are gold paths, those).
    """

    topic: int
    hops: Hops
    precision: Share
    recall: Share
    similarity: FiniteFloat
    shortest: bool
    positive: bool
    gold: bool = False

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return f1_of(self.precision, self.recall)


@dataclass(frozen=True, slots=True)
class NegativePath:
    """A wrong path made from a positive one (STAR, section 4.1), in the graph or not.

    kind: `similar` or `random` (one relation replaced by a near or a random one), `early` (it stops too soon),
    `overrun` (it goes too far).
    """

    topic: int
    hops: Hops
    kind: str


@dataclass(frozen=True, slots=True)
class MinedQuestion:
    """A question with its answer paths, the wrong paths made from them, and all paths in the graph."""

    id: str
    text: str
    topics: tuple[MinedTopic, ...]
    paths: tuple[AnswerPath, ...]
    negatives: tuple[NegativePath, ...]
    reach: tuple[PathTrie, ...]
    """One entry per topic."""
    num_hops: int | None = None
    """Hops to the nearest answer, if the question set has them."""


@dataclass(frozen=True, slots=True)
class MinedFileOrigin:
    """The origin of a mined file: the question set, the graph, the encoder and the options.

    relations: the words of every relation of the graph: the type it leads from ("" if unknown), then its properties.
    """

    questions: str
    questions_sha256: str
    graph: str
    """Fingerprint of the graph's relation catalogue."""
    encoder: str
    max_hop: Annotated[int, Range(1, MAX_HOP)]
    relations: Mapping[str, Annotated[tuple[str, ...], Field(min_length=1)]]
    options: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of questions, paths and negatives of each kind."""


@dataclass(frozen=True, slots=True)
class MinedFile:
    """A mined file in memory. `sha256` is of its unpacked content."""

    mining: MinedFileOrigin
    questions: tuple[MinedQuestion, ...]
    sha256: str

    @property
    def trained_on(self) -> TrainingDataRecord:
        """The training data's description in a checkpoint."""
        mining = self.mining
        return TrainingDataRecord(
            mining.questions, mining.questions_sha256, self.sha256, mining.graph, len(self.questions), mining.max_hop
        )

    @property
    def question_keys(self) -> list[QuestionKey]:
        """Id, text and topics of each question."""
        return [(each.id, each.text, frozenset(topic.id for topic in each.topics)) for each in self.questions]


def hop_of(written: str, words: Mapping[str, RelationWords]) -> Hop:
    """Return the hop that a file writes; raise `KeyError` for a relation without words."""
    return tuple(
        DirectedRelation(words[step.removeprefix(INVERSE)], step.startswith(INVERSE)) for step in written.split(THROUGH)
    )


def words_of(mining: MinedFileOrigin) -> dict[str, RelationWords]:
    """Return the words of every relation of the graph."""
    return {name: RelationWords(domain, tuple(rest)) for name, (domain, *rest) in mining.relations.items()}


def iterate_paths(reach: PathTrie, before: Hops = ()) -> Iterator[Hops]:
    """Yield every relation path of a trie, parents before children."""
    for hop, following in reach.items():
        yield (*before, hop)
        yield from iterate_paths(following, (*before, hop))


def write_mined_file(path: Path, mining: MinedFileOrigin, questions: Iterable[MinedQuestion]) -> None:
    """Write a mined file atomically; the same questions give the same bytes."""
    write_mined_records(path, asdict(mining), questions)


def is_mined(path: Path) -> bool:
    """Return whether a file is a mined file, by its first line."""
    return {"questions_sha256", "relations", "max_hop"} <= header_of(path).keys()


def read_mined_file(path: Path) -> MinedFile:
    """Return a mined file; raise `MinedFileError` if it is missing, damaged or of another format."""
    known: set[str] = set()
    return MinedFile(
        *read_lines(
            path,
            lambda fields: decode_dataclass(MinedFileOrigin, json.dumps(fields)),
            MinedQuestion,
            lambda question, mining: _check_question(question, mining, known),
            what="mined paths",
            again="mine the paths again",
        )
    )


def _check_question(question: MinedQuestion, mining: MinedFileOrigin, known: set[str]) -> MinedQuestion:
    """Return the question; raise `ValueError` if its parts, or it and the first line, do not fit together.

    known: hops already found to have words; this call adds its own.
    """
    if not any(question.reach) or len(question.reach) != len(question.topics):
        raise ValueError("a question has the paths from each of its topics, and at least one")
    paths: list[AnswerPath | NegativePath] = [*question.paths, *question.negatives]
    if not all(path.hops and 0 <= path.topic < len(question.topics) for path in paths):
        raise ValueError("a path has hops and leaves a topic of its question")
    longest = max([*(len(path.hops) for path in paths), *map(_depth, question.reach)])
    if longest > mining.max_hop + 1:  # a wrong path may be one hop longer
        raise ValueError(f"a path has at most {mining.max_hop + 1} hops, found {longest:,}")
    hops = {hop for path in paths for hop in path.hops}.union(*map(_hops_of, question.reach)) - known
    for relation in (step.removeprefix(INVERSE) for hop in hops for step in hop.split(THROUGH)):
        if relation not in mining.relations:
            raise ValueError(f"the first line has no words for {relation}")
    known |= hops
    return question


def _depth(reach: PathTrie) -> int:
    """Return the number of hops of the longest path of a trie."""
    return 1 + max(map(_depth, reach.values())) if reach else 0


def _hops_of(reach: PathTrie) -> set[str]:
    return set(reach).union(*map(_hops_of, reach.values()))
