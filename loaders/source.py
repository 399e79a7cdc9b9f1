"""What every source format offers, and what may stand in a graph.

A format is one file with a class that follows `Source`; `formats.py` lists them by name.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..engine.database.catalogue import LABEL_SEPARATOR
from ..engine.database.templates import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from .lines import LineFile
    from .plain_triples import PlainForm

MAX_ID_BYTES = 8_000
"""Neo4j's range index takes keys of about 8,160 bytes."""


@dataclass(frozen=True, slots=True)
class RelationFacts:
    """What a source knows about a relation beyond its name."""

    range: str | None = None
    inverse: str | None = None
    label: str | None = None
    """What a reader would call it, where its name does not tell."""


@dataclass(frozen=True, slots=True)
class LinePart:
    """A file of lines, and the parser (`parsers/NAME.sql`) that reads them.

    `plain` is the form of lines that need no parser: the parser, if it is asked, makes triples of entities of them, or
    noise where the form says so.
    """

    file: LineFile
    parser: str
    parameters: Mapping[str, object]
    plain: PlainForm | None = None


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


def fault_of_id(id_: str) -> str | None:
    """Return why this cannot be an entity's id, or None when it can."""
    if not id_:
        return "an id is empty"
    if "\0" in id_:
        return "an id has a zero byte in it"
    if len(id_) > MAX_ID_BYTES // 4 and len(id_.encode()) > MAX_ID_BYTES:
        return f"an id is longer than {MAX_ID_BYTES:,} bytes"
    return None


def fault_of_relation(name: str) -> str | None:
    """Return why this cannot be a relation's name, or None when it can."""
    if not name:
        return "the relation is empty"
    if len(name.encode()) > MAX_ID_BYTES:
        return f"the relation is longer than {MAX_ID_BYTES:,} bytes"
    try:
        quoted(name)
    except ValueError:
        return "the relation has a zero byte or \\u in it, which Neo4j cannot have in a relationship type"
    return None


def search_name(name: str) -> str:
    """Return a name as it is searched for: composed (NFC), underscores opened, trimmed."""
    return unicodedata.normalize("NFC", name).replace("_", " ").strip()


def domain_of(relation: str) -> str | None:
    """Return the type of the heads that a Freebase-like name tells (``domain.type`` of ``domain.type.property``)."""
    type_, _, property_ = relation.partition("|")[0].rpartition(".")
    return type_ if property_ and "." in type_ else None


_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")


def label_of(relation: str) -> str:
    """Return the readable words of a relation's name: its last part, for a compound one the last parts of both."""
    parts = []
    for step in relation.split("|"):
        last = re.split(r"[./#:]", step.rstrip("./#:"))[-1]
        if words := " ".join(filter(None, _WORD_BREAK.split(last))).lower():
            parts.append(words)
    return LABEL_SEPARATOR.join(dict.fromkeys(parts)) or relation
