"""Read and write files of mined paths (STAR) and candidate pools (ReG).

The first line is a `FileHeader`; its ``counts["questions"]`` reveals a truncated file. Every other line is a question.

Mined paths (`MinedFile`) are written in walking order. A hop is a relation, with ``^`` before it if it is inverse (tail
to head), or the relations into an unnamed mediator and out of it with `THROUGH` between them.

A chain of a pool (`PoolFile`) stands for all paths with its relations from its start; its triples are those on the
walks of its steps in the question's subgraph (`models.subgraphs`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain as joined
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, cast

from pydantic import Field, FiniteFloat
from typing_extensions import TypeAliasType

from . import Count, Range, Share, one_line
from .atomic_files import atomic_write
from .kinds import QuestionKey, TrainingDataRecord, decode_dataclass
from .text import DirectedRelation, Hop, RelationWords

FORMAT = 2
MAX_LINE_BYTES = 1 << 25
"""The longest line of a question; the longest of 2,000 questions of FB15k-237 has 146 kB."""
MAX_RATIO = 100
"""The largest ratio of unpacked to packed bytes, from `FREE_BYTES` on; mined files are packed 20 to 1."""
FREE_BYTES = 1 << 26


class MinedFileError(Exception):
    """The file is not what `write_mined_file` writes; the message says where."""


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The origin of a file: the question set, the graph (fingerprint of its catalogue), the options, and counts."""

    questions: str
    questions_sha256: str
    graph: str
    options: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    counts: Mapping[str, int] = field(default_factory=dict, kw_only=True)


HeaderT = TypeVar("HeaderT", bound=FileHeader)
RecordT = TypeVar("RecordT")


@dataclass(frozen=True, slots=True)
class _QuestionFile(Generic[HeaderT, RecordT]):
    """A file in memory. sha256: of its unpacked content."""

    header: HeaderT
    questions: tuple[RecordT, ...]
    sha256: str = ""

    @property
    def trained_on(self) -> TrainingDataRecord:
        header = self.header
        longest = getattr(header, "max_hop", MAX_STEPS)
        return TrainingDataRecord(header.questions, header.questions_sha256, header.graph, len(self.questions), longest)

    @property
    def question_keys(self) -> list[QuestionKey]:
        return [(each.id, each.text, each.topic_ids) for each in cast(Any, self.questions)]


def _content_lines(header: FileHeader, questions: Iterable[Any]) -> Iterator[bytes]:
    for record in joined([{"format": FORMAT, **asdict(header)}], map(asdict, questions)):
        yield json.dumps(record, ensure_ascii=False).encode() + b"\n"


def compute_mined_file_sha256(header: FileHeader, questions: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for line in _content_lines(header, questions):
        digest.update(line)
    return digest.hexdigest()


def write_mined_file(path: Path, header: FileHeader, questions: Iterable[Any]) -> None:
    """Write a file of mined paths or of pools atomically; the same header and questions give the same bytes."""
    lines = _content_lines(header, questions)
    with atomic_write(path) as draft, draft.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                packed.writelines(lines)
        else:
            file.writelines(lines)


def _read_lines(
    path: Path,
    header: type[HeaderT],
    record: type[RecordT],
    check: Callable[[RecordT, HeaderT], object],
    what: str,
) -> tuple[HeaderT, tuple[RecordT, ...], str]:
    """Return header, records and the SHA-256 of the unpacked content.

    check: raises `ValueError` for a record that does not fit. what: the file is, for messages. Raises `MinedFileError`
    if the file is missing or damaged.
    """
    digest = hashlib.sha256()
    records: list[RecordT] = []
    head: HeaderT | None = None
    number = 0
    try:
        with _open_file(path) as file:
            most = max(FREE_BYTES, MAX_RATIO * path.stat().st_size)
            for number, line in enumerate(_lines(file, most), start=1):  # noqa: B007 - told when the line is damaged
                digest.update(line)
                if head is None:
                    head = decode_dataclass(header, _of_this_format(line))
                else:
                    records.append(decode_dataclass(record, line))
                    check(records[-1], head)
        if head is None:
            raise ValueError("found an empty file")
        if len(records) != head.counts.get("questions", len(records)):
            raise ValueError(f"{head.counts['questions']:,} questions, found {len(records):,}: the file is truncated")
    except OSError as error:
        raise MinedFileError(f"{path}: the {what} cannot be read: {error.strerror or error}") from error
    except (EOFError, ValueError, RecursionError, zlib.error) as error:
        raise MinedFileError(
            f"{path}:{max(number, 1)}: expected what `lodestar mine` writes ({what}): {one_line(error)}: mine again"
        ) from error
    return head, tuple(records), digest.hexdigest()


def _open_file(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _lines(file: IO[bytes], most: int) -> Iterator[bytes]:
    num_bytes = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        num_bytes += len(line)
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"a line of at most {MAX_LINE_BYTES:,} bytes, found a longer one")
        if num_bytes > most:
            raise ValueError(f"at most {most:,} bytes when it is unpacked, found more")
        yield line


def _of_this_format(line: bytes) -> str:
    record = json.loads(line)
    if not isinstance(record, dict) or record.pop("format", None) != FORMAT:
        raise ValueError(f"format {FORMAT} in the first line")
    return json.dumps(record)


def compute_f1_from_precision_recall(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


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
        return compute_f1_from_precision_recall(self.precision, self.recall)


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

    @property
    def topic_ids(self) -> frozenset[str]:
        return frozenset(topic.id for topic in self.topics)


@dataclass(frozen=True, slots=True)
class MinedFileOrigin(FileHeader):
    """The origin of a mined file.

    relations: the words of every relation of the graph: the type it leads from ("" if unknown), then its properties.
    """

    encoder: str
    max_hop: Annotated[int, Range(1, MAX_HOP)]
    relations: Mapping[str, Annotated[tuple[str, ...], Field(min_length=1)]]


@dataclass(frozen=True, slots=True)
class MinedFile(_QuestionFile[MinedFileOrigin, MinedQuestion]):
    """A file of mined paths in memory."""


def parse_hop(written: str, words: Mapping[str, RelationWords]) -> Hop:
    """Return the hop that a file writes; raise `KeyError` for a relation without words."""
    return tuple(
        DirectedRelation(words[step.removeprefix(INVERSE)], step.startswith(INVERSE)) for step in written.split(THROUGH)
    )


def get_mined_relation_words(mining: MinedFileOrigin) -> dict[str, RelationWords]:
    return {name: RelationWords(domain, tuple(rest)) for name, (domain, *rest) in mining.relations.items()}


def iterate_trie_paths(reach: PathTrie, before: Hops = ()) -> Iterator[Hops]:
    for hop, following in reach.items():
        yield (*before, hop)
        yield from iterate_trie_paths(following, (*before, hop))


def is_mined_file(path: Path) -> bool:
    """Whether the first line of a file is that of mined paths."""
    try:
        with _open_file(path) as file:
            record = json.loads(file.readline(MAX_LINE_BYTES))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error):
        return False
    return isinstance(record, dict) and {"questions_sha256", "relations", "max_hop"} <= record.keys()


def read_mined_file(path: Path) -> MinedFile:
    """Return a mined file; raise `MinedFileError` if it is missing, damaged or of another format."""
    check = partial(_check_question, known=set())
    return MinedFile(*_read_lines(path, MinedFileOrigin, MinedQuestion, check, "mined paths"))


def _check_question(question: MinedQuestion, mining: MinedFileOrigin, known: set[str]) -> None:
    """Raise `ValueError` if the parts of a question, or it and the first line, do not fit together.

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


def _depth(reach: PathTrie) -> int:
    return 1 + max(map(_depth, reach.values())) if reach else 0


def _hops_of(reach: PathTrie) -> set[str]:
    return set(reach).union(*map(_hops_of, reach.values()))


WEAK = "weak"
"""Supervision: the shortest paths."""
MAX_STEPS = 4
"""The most steps of a shortest path in a pool."""

ChainKind = Literal["path", "query", "answer"]
HowChosen = Literal["", "refined", "unrefined"]


@dataclass(frozen=True, slots=True)
class PoolChain:
    """A candidate: the relations of a path from a start, ``^`` before an inverse step (from tail to head).

    kind: `path`, a shortest path from a topic to an answer; `query`, a relation of a topic; `answer`, one of the
    representative answer. start: id of the first entity. names: of the entities on one of its paths, one more than
    steps. count: the number of paths it stands for, at least.
    """

    kind: ChainKind
    start: str
    steps: tuple[str, ...]
    names: tuple[str, ...]
    count: Count = 1


@dataclass(frozen=True, slots=True)
class PooledQuestion:
    """A question with its candidates. answer: id of the representative answer, where chains of kind `path` end.

    cut: the bounds that cut candidates off. chosen: numbers
    of the supervision chains. how: `refined`, or `unrefined` (all shortest paths, as a fallback); "" before refinement.
    """

    id: str
    text: str
    topics: tuple[str, ...]
    answer: str
    chains: tuple[PoolChain, ...]
    cut: tuple[str, ...] = ()
    chosen: tuple[Count, ...] = ()
    how: HowChosen = ""

    @property
    def topic_ids(self) -> frozenset[str]:
        return frozenset(self.topics)

    @property
    def weak(self) -> tuple[int, ...]:
        return tuple(number for number, chain in enumerate(self.chains) if chain.kind == "path")

    @property
    def supervision(self) -> tuple[PoolChain, ...]:
        return tuple(self.chains[number] for number in (self.chosen if self.how else self.weak))


@dataclass(frozen=True, slots=True)
class PoolHeader(FileHeader):
    """The origin of a pool. refiner: in words, such as the name of a language model or a scorer; "" if unrefined."""

    refiner: str = ""
    kind: Literal["pool"] = "pool"


@dataclass(frozen=True, slots=True)
class PoolFile(_QuestionFile[PoolHeader, PooledQuestion]):
    """A file of candidate pools in memory."""

    @property
    def supervision(self) -> str:
        return f"refined by {self.header.refiner}" if self.header.refiner else WEAK


def describe_supervision(sets: Sequence[Any]) -> str:
    """Return, in words, what chose the right chains of pools, or the right triples of subgraphs."""
    return ", ".join(dict.fromkeys(each.supervision for each in sets))


def read_pool(path: Path) -> PoolFile:
    """Return a file of pools; raise `MinedFileError` if it is missing, damaged or another one."""
    return PoolFile(*_read_lines(path, PoolHeader, PooledQuestion, _check_pooled, "candidate pools"))


def _check_pooled(question: PooledQuestion, _header: PoolHeader) -> None:
    for chain in question.chains:
        if not chain.steps or len(chain.names) != len(chain.steps) + 1:
            raise ValueError("a chain has steps, and a name more than steps")
        if len(chain.steps) > 2 * MAX_STEPS:
            raise ValueError(f"a chain has at most {2 * MAX_STEPS} steps, found {len(chain.steps):,}")
        if chain.kind != "answer" and chain.start not in question.topics:
            raise ValueError("a chain starts at a topic of its question, or at its answer")
    if any(number >= len(question.chains) for number in question.chosen):
        raise ValueError("what was chosen is one of the chains")
