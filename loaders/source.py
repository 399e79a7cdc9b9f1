"""What every source format offers, and what may stand in a graph.

A format is one file with a class that follows `Source`; `formats.py` lists them by name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..engine.database.catalogue import LABEL_SEPARATOR
from ..engine.database.templates import quoted

MAX_ID_BYTES = 8_000
"""Neo4j's range index takes keys of about 8,160 bytes."""

MAX_RELATIONS = 65_000
"""Neo4j Community keeps at most 65,536 relationship types."""


class SourceTriple(NamedTuple):
    """One statement of a source, by ids."""

    head: str
    relation: str
    tail: str


class SourceName(NamedTuple):
    """A name of an entity: the first one given for an id is its name, all others are aliases."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class RelationFacts:
    """What a source knows about a relation beyond its name."""

    range: str | None = None
    inverse: str | None = None
    label: str | None = None
    """What a reader would call it, where its name does not tell."""


class Source(Protocol):
    """A knowledge graph that can be read from its start as often as needed.

    Reading raises `InputError` with the place of the fault. Whether ids and relations can stand in a graph is checked
    by the caller, who asks `place` where the fault is.
    """

    kind: str
    """The format's name on the command line."""
    name: str
    """What the user would call this source: a file's name, a package and its version."""

    @property
    def place(self) -> str:
        """Where the reading stands, as ``file:line`` or what comes nearest to it."""
        ...

    def digest(self) -> str:
        """Return the SHA-256 of everything that `triples` and `names` come from, in hexadecimal."""
        ...

    def triples(self) -> Iterator[SourceTriple]:
        """Yield the triples, duplicates included."""
        ...

    def names(self) -> Iterator[SourceName]:
        """Yield names and aliases, the name of an entity before its aliases."""
        ...

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return what is known about relations, by name; empty where nothing is."""
        ...


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
