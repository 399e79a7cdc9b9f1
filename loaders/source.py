"""What every source format offers.

A format is one file with a class that follows `Source`; `formats/by_name.py` lists them by name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from .reading.lines import LineFile


@dataclass(frozen=True, slots=True)
class RelationFacts:
    """What a source knows about a relation beyond its name."""

    range: str | None = None
    inverse: str | None = None
    label: str | None = None
    """What a reader would call it, where its name does not tell."""


@dataclass(frozen=True, slots=True)
class LinePart:
    """A file of lines, and the parser (`parsers/NAME.sql`) that reads them."""

    file: LineFile
    parser: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RowPart:
    """Rows that the source reads itself: batches of `rows.ROWS`, read once, and what their place is called."""

    shown: str
    batches: Iterator[pa.RecordBatch]


Part = LinePart | RowPart


class Source(Protocol):
    """A knowledge graph that can be read from its start as often as needed.

    Reading raises `InputError` for what cannot be read at all; single lines that cannot are rejected. Whether ids and
    relations can stand in a graph is checked by the caller.
    """

    @property
    def kind(self) -> str:
        """The format's name on the command line."""
        ...

    @property
    def name(self) -> str:
        """What the user would call this source: a file's name, a package and its version."""
        ...

    @property
    def max_rejects(self) -> int:
        """How many lines may be rejected before the load is given up, where the user does not say."""
        ...

    @property
    def languages(self) -> Sequence[str]:
        """Of names, lower case, in the order of preference for which becomes the name; others come after these."""
        ...

    @property
    def unnamed_ids(self) -> str | None:
        """None where ids are no names.

        Otherwise the id of an entity that nothing names is its name, unless this regular expression (RE2) matches it in
        full.
        """
        ...

    @property
    def size_bytes(self) -> int | None:
        """How much is read, packed as it is on disk; None where that is not known."""
        ...

    @property
    def position_bytes(self) -> int:
        """How much of `size_bytes` is read by now."""
        ...

    def reads(self, path: Path) -> bool:
        """Return whether this is one of the files that it reads."""
        ...

    def digest(self) -> str:
        """Return the SHA-256 of the content and of every option that changes the result, in hexadecimal."""
        ...

    def options(self) -> Mapping[str, object]:
        """Return the options that change the result, as JSON can have them."""
        ...

    def parts(self) -> Iterator[Part]:
        """Yield the parts, each to be read to its end before the next."""
        ...

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return what is known about relations, by name; empty where nothing is."""
        ...


NO_ID = r"[^\s\S]"
"""Matches nothing: as `Source.unnamed_ids`, every id may be a name."""


def digest_of(kind: str, options: Mapping[str, object], contents: Iterable[str]) -> str:
    """Return the SHA-256, in hexadecimal, of a source with these options and these digests of what it reads."""
    return hashlib.sha256(json.dumps([kind, options, list(contents)], sort_keys=True).encode()).hexdigest()
