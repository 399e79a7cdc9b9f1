"""Define the interface of every source format, and the base of those that read files.

A format is one file with a class that follows `Source`; `formats/by_name.py` lists them by name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..engine.writing.relations import RelationFacts
from .reading.byte_file import RereadableFile

if TYPE_CHECKING:
    import pyarrow as pa

    from .reading.lines import LineReader


@dataclass(frozen=True, slots=True)
class LineFile:
    """A file of lines, and the parser (`parsers/NAME.sql`) that reads them."""

    file: LineReader
    parser: str
    parameters: Mapping[str, object]

    @property
    def shown(self) -> str:
        """The file as messages name it."""
        return self.file.shown


@dataclass(frozen=True, slots=True)
class RowSpan:
    """Some rows of a file, for others to read by themselves.

    read: yields them, their lines counted from 1; it can be pickled. end: where they end in the file, in bytes."""

    read: Callable[[], Iterator[pa.RecordBatch]]
    end: int


@dataclass(frozen=True, slots=True)
class SourceRowBatches:
    """Rows that the source reads itself: batches of `rows.ROWS`, read once, and the name of their unit.

    spans: the same rows for others to read, in order, with the file that has them; none where only the source can."""

    shown: str
    batches: Iterator[pa.RecordBatch]
    spans: Sequence[RowSpan] = ()
    file: RereadableFile | None = None


Part = LineFile | SourceRowBatches


class Source(Protocol):
    """A knowledge graph that can be read from its start as often as needed.

    Reading raises `InputError` for an unreadable source; single unreadable lines are rejected. The caller checks
    whether ids and relations are valid.
    """

    @property
    def kind(self) -> str:
        """The format's name on the command line."""
        ...

    @property
    def name(self) -> str:
        """The user's name for this source: a file's name, a package and its version."""
        ...

    @property
    def max_rejects(self) -> int:
        """How many rejected lines end the load, unless the user says."""
        ...

    @property
    def languages(self) -> Sequence[str]:
        """Languages of names, lower case, in order of preference for the main name; others follow."""
        ...

    @property
    def unnamed_ids(self) -> str | None:
        """None if ids are not names.

        Otherwise an unnamed entity's id is its name, unless this regular expression (RE2) matches all of it.
        """
        ...

    @property
    def size_bytes(self) -> int | None:
        """The size to read, compressed as on disk; None if unknown."""
        ...

    @property
    def position_bytes(self) -> int:
        """How many of `size_bytes` are read."""
        ...

    def reads(self, path: Path) -> bool:
        """Return whether this is one of the files it reads."""
        ...

    def digest(self) -> str:
        """Return the SHA-256 of the content and of every option that changes the result, in hexadecimal."""
        ...

    def options(self) -> Mapping[str, object]:
        """Return the options that change the result, as plain data for JSON."""
        ...

    def parts(self) -> Iterator[Part]:
        """Yield the parts; each must be read to its end before the next."""
        ...

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return what is known about relations, by name; may be empty."""
        ...


NO_ID = r"[^\s\S]"
"""Matches nothing: as `Source.unnamed_ids`, every id may be a name."""


def digest_of(kind: str, options: Mapping[str, object], contents: Iterable[str]) -> str:
    """Return the SHA-256, in hexadecimal, of a source with these options and these digests of its inputs."""
    return hashlib.sha256(json.dumps([kind, options, list(contents)], sort_keys=True).encode()).hexdigest()


class FileSource:
    """A source of one or more files, named after the first unless it has a name. A format adds `parts`, and `options`
    if it has any."""

    kind: str

    def __init__(self, files: Sequence[RereadableFile], name: str | None = None) -> None:
        self._read_files = tuple(files)
        self.name = name or self._read_files[0].name

    @property
    def size_bytes(self) -> int:
        """The size of the files on disk, compressed."""
        return sum(file.size_bytes for file in self._read_files)

    @property
    def position_bytes(self) -> int:
        """How many bytes of them are read."""
        return sum(file.position_bytes for file in self._read_files)

    def reads(self, path: Path) -> bool:
        """Return whether this is one of the files."""
        return any(file.is_at(path) for file in self._read_files)

    def digest(self) -> str:
        """Return the hash of the files and the options."""
        return digest_of(self.kind, self.options(), [file.digest() for file in self._read_files])

    def options(self) -> Mapping[str, object]:
        """Return nothing: the format has no options."""
        return {}

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return nothing: the file describes its relations only by triples."""
        return {}
