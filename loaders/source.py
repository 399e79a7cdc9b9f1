"""Define the interface of every source format, the rows that it yields, the base of those that read files, and subsets.

A format is one file with a class that follows `Source`; `formats/__init__.py` lists them by name.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa

from ..engine.errors import InputError, UsageError
from ..engine.file_access import read_text_file
from ..engine.writing import RelationMetadata
from ..models import quote_line
from ..models.wording import fold_name
from .reading import RereadableFile, list_files, warn_of_others

T = TypeVar("T")


def split_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`; the last one may be shorter."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


BATCH_ROWS = 50_000

ROWS = pa.schema(
    [
        ("line", pa.int64()),
        ("category", pa.string()),
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
        ("is_literal", pa.bool_()),
        ("datatype", pa.string()),
        ("language", pa.string()),
        ("tag", pa.string()),
        ("reason", pa.string()),
    ]
)


class StatementRow(NamedTuple):
    """One statement, or another kind of line.

    The category is `triple`, `name` (head is the id, tail the text, tag `name`, `alias` or None),
    `comment` (head is the relation that the text in tail explains), `reject` (with the
    reason; tail is the unreadable text, whole or shortened), or the name of a category of skipped lines.
    """

    line: int
    category: str
    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    is_literal: bool | None = None
    datatype: str | None = None
    language: str | None = None
    tag: str | None = None
    reason: str | None = None


def triple_row(line: int, head: str, relation: str, tail: str) -> StatementRow:
    return StatementRow(line, "triple", head, relation, tail, False)


def name_row(line: int, id_: str, name: str) -> StatementRow:
    return StatementRow(line, "name", head=id_, tail=name)


def alias_row(line: int, id_: str, name: str) -> StatementRow:
    return StatementRow(line, "name", head=id_, tail=name, tag="alias")


def relation_comment_row(line: int, relation: str, text: str) -> StatementRow:
    return StatementRow(line, "comment", head=relation, tail=text)


def reject_row(line: int, reason: str, text: str) -> StatementRow:
    return StatementRow(line, "reject", tail=text[:1_000], reason=reason)


def record_batches(rows: Iterable[Sequence[object]], schema: pa.Schema = ROWS) -> Iterator[pa.RecordBatch]:
    for batch in split_batches(rows, BATCH_ROWS):
        columns = [pa.array(column, field.type) for column, field in zip(zip(*batch, strict=True), schema, strict=True)]
        yield pa.record_batch(columns, schema=schema)


@dataclass(frozen=True, slots=True)
class FileWithParser:
    file: RereadableFile
    parser: str
    parameters: Mapping[str, object]

    @property
    def shown(self) -> str:
        return self.file.shown


@dataclass(frozen=True, slots=True)
class SourceRowBatches:
    """Rows that the source reads itself: batches of `ROWS`, read once; `unit` is what their `line` counts."""

    shown: str
    batches: Iterator[pa.RecordBatch]
    unit: str = ""


Part = FileWithParser | SourceRowBatches


class Source(ABC):
    """A knowledge graph that can be read from its start as often as needed.

    Reading raises `InputError` for an unreadable source; single unreadable lines are rejected. The caller checks
    whether ids and relations are valid.
    """

    kind: str  # the format's name on the command line
    name: str  # the user's name for this source: a file's name, a package and its version
    max_rejects = 0  # how many rejected lines end the load, unless the user says
    languages: Sequence[str] = ()
    """Languages of names, lower case, in order of preference for the main name; others follow."""
    all_languages: bool = True
    """Whether names in other languages are kept, too. Otherwise only of what has no name in these, the first."""
    name_relations: Sequence[str] = ()  # the relations whose literals are names, the best first
    unnamed_ids: str | None = None
    """None if ids are not names. Otherwise an unnamed entity's id is its name, unless this regular expression (RE2)
    matches all of it."""
    names_from_ids: bool = False
    """Whether what has no name is named by a property that is called so, else by its kind and its id's last part."""

    @property
    def left_out(self) -> Mapping[str, int]:
        """What a property graph leaves out or assumes, with counts, once it has been read."""
        return {}

    @property
    def size_bytes(self) -> int | None:
        """The size to read, compressed as on disk; None if unknown."""
        return None

    @property
    def position_bytes(self) -> int:
        """How many of `size_bytes` are read."""
        return 0

    @abstractmethod
    def digest(self) -> str:
        """Return the SHA-256 of the content and of every option that changes the result, in hexadecimal."""

    def options(self) -> Mapping[str, object]:
        """Return the options that change the result, as plain data for JSON."""
        return {}

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """Yield the parts; each must be read to its end before the next."""

    def relation_facts(self) -> Mapping[str, RelationMetadata]:
        return {}


NO_ID = r"[^\s\S]"  # matches nothing: as `Source.unnamed_ids`, every id may be a name
FREEBASE_ID = r"[mg]\.[0-9a-z_]+"


def concept_id(concept: str) -> str:
    """Return the common id of all spellings of a concept: no case, no accents, single blanks."""
    return " ".join(fold_name(concept).replace("\0", " ").split())


def read_languages(languages: Sequence[str]) -> tuple[list[str], bool]:
    """Return languages in order of preference, lower case, and whether all others are to be kept (``*``), too."""
    tags = list(dict.fromkeys(tag.strip().lower() for tag in languages))
    for tag in tags:
        if tag != "*" and not tag.replace("-", "").isalnum():
            raise InputError(f"expected a language such as en or pt-br, or * for all, found {quote_line(tag)}")
    return [tag for tag in tags if tag != "*"], "*" in tags


def hash_source(kind: str, options: Mapping[str, object], contents: Iterable[str]) -> str:
    """Return the SHA-256, in hexadecimal, of a source with these options and these digests of its inputs."""
    return hashlib.sha256(json.dumps([kind, options, list(contents)], sort_keys=True).encode()).hexdigest()


class FileSource(Source):
    """A source of a file (``-`` is standard input), a folder or a pattern, packed or not; perhaps with a names file."""

    parser = ""  # the parser of its lines in `parsers/`; without one, `rows` reads a file
    endings: Sequence[str] = ()  # of a folder with files that end so, only these are read

    def __init__(self, path: str, names_path: str | None = None, **options: object) -> None:
        self._options = options
        if path == names_path == "-":
            raise InputError("stdin: expected triples or names, asked to be both")
        paths = list_files(path, self.endings)
        warn_of_others(path, paths)
        self.files: Sequence[RereadableFile] = [RereadableFile(each) for each in paths]
        self.names_file = RereadableFile(names_path) if names_path is not None else None
        self.name = self.files[0].name if paths == [path] else Path(path).name

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self._all_files())

    @property
    def position_bytes(self) -> int:
        return sum(file.position_bytes for file in self._all_files())

    def digest(self) -> str:
        return hash_source(self.kind, self.options(), [file.digest() for file in self._all_files()])

    def options(self) -> Mapping[str, object]:
        return {**self._options, **({"names": True} if self.names_file else {})}

    def parts(self) -> Iterator[Part]:
        for file in self.files:
            if self.parser:
                yield FileWithParser(file, self.parser, self.parameters(file))
            else:
                yield SourceRowBatches(file.shown, record_batches(self.rows(file)))
        if self.names_file:  # an id, its name and perhaps aliases on each line
            yield FileWithParser(self.names_file, "names", {})

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        raise NotImplementedError

    def parameters(self, file: RereadableFile) -> Mapping[str, object]:  # noqa: ARG002
        return {}

    def _all_files(self) -> Sequence[RereadableFile]:
        return [*self.files, self.names_file] if self.names_file else self.files


_GLOB = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Subset:
    """The part of a source to load; the default is all of it. A triple must pass every restriction.

    `relations` are names or globs (``music.*``). `around` with `hops` keeps the triples with an end less than `hops`
    steps from these entities, in any direction.
    """

    around: tuple[str, ...] = ()
    hops: int = 1
    relations: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.hops < 1:
            raise UsageError(f"hops: expected 1 or more, found {self.hops}")
        if self.hops > 1 and not self.around:
            raise UsageError("--hops sets how far --around reaches: give --around as well")

    @property
    def exact_relations(self) -> tuple[str, ...]:
        return tuple(name for name in self.relations if not _GLOB.search(name))

    @property
    def relation_pattern(self) -> str:
        """A regular expression (RE2) of the relations given by globs; matches nothing without globs."""
        globs = filter(_GLOB.search, self.relations)
        patterns = [re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".") for glob in globs]
        return f"(?s:{'|'.join(patterns)})" if patterns else NO_ID

    def as_json(self) -> Mapping[str, object]:
        default = asdict(Subset())
        return {name: value for name, value in asdict(self).items() if value != default[name]}


def read_relation_patterns(text: str) -> tuple[str, ...]:
    """Return relations' names or globs: the lines of a file, without blank ones and comments (``#``), or what commas
    separate.

    Raises `InputError` for a file without a name.
    """
    if not text or not Path(text).is_file():
        return tuple(filter(None, map(str.strip, text.split(","))))
    lines = map(str.strip, read_text_file(Path(text), "the list").splitlines())
    found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise InputError(f"{text}: expected one name a line, found none")
    return found
