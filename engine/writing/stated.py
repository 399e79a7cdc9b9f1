"""Read triples as a caller states them, and what can be in a graph: ids, relations, literals, and their checksum."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import NamedTuple

from ...models.message_text import quote_line
from ..errors import InputError
from ..neo4j.templates import quote_identifier
from ..values import Entity, literal_term

MAX_ID_BYTES = 8_000
"""Neo4j's range index takes keys of about 8,160 bytes."""
MAX_VALUE_CHARS = 1_000_000
_XSD = "http://www.w3.org/2001/XMLSchema#"
LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_IRI = re.compile(r'[^\x00-\x20<>"{}|^`\\]+')


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """A literal: text, with a datatype (an IRI) or a language where it has one."""

    value: str
    datatype: str | None = None
    language: str | None = None

    @classmethod
    def of(cls, value: bool | int | float | Decimal | date | time) -> LiteralValue:
        """Return the literal of a Python value, with the datatype of XML Schema."""
        if isinstance(value, bool):
            return cls("true" if value else "false", f"{_XSD}boolean")
        if isinstance(value, int | float | Decimal):
            name = "integer" if isinstance(value, int) else "double" if isinstance(value, float) else "decimal"
            return cls(str(value), _XSD + name)
        name = "dateTime" if isinstance(value, datetime) else "date" if isinstance(value, date) else "time"
        return cls(value.isoformat(), _XSD + name)

    @property
    def id(self) -> str:
        """The literal's id in the graph: its N-Triples term, or the hash of a longer one."""
        term = literal_term(self.value, self.datatype, self.language)
        if len(term.encode()) > MAX_ID_BYTES:
            return f"sha256:{hashlib.sha256(term.encode()).hexdigest()}"
        return term

    def as_row(self) -> dict[str, str | None]:
        """Return the literal's row for write_literals.cypher."""
        return {"id": self.id, "value": self.value, "datatype": self.datatype, "language": self.language}


End = str | Entity
Tail = End | LiteralValue | bool | int | float | Decimal | date | time
Stated = tuple[End, str, Tail]
"""A triple as a caller states it: a text is the id or the name of an entity; an `Entity` has its id; other values of
Python are literals."""


class TripleKey(NamedTuple):
    """A triple by the ids of its ends."""

    head: str
    relation: str
    tail: str
    is_literal: bool

    @property
    def entities(self) -> tuple[str, ...]:
        """The ids of the ends that are entities."""
        return (self.head,) if self.is_literal else (self.head, self.tail)

    @property
    def fingerprint(self) -> int:
        """The triple's part in the checksum of a load, as `numbering/checksum.sql` computes it."""
        sum_ = (_hash(self.head) * 3 + _hash(self.relation) * 5 + _hash(self.tail) * 7) % _PRIME
        return sum_ * sum_ % _PRIME

    def __str__(self) -> str:
        return f"({quote_line(self.head)}, {quote_line(self.relation)}, {quote_line(self.tail)})"


CHECKSUM_MODULUS = (1 << 63) - 1
_PRIME = (1 << 31) - 1


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[8:], "little") % _PRIME


def parse_stated_triples(triples: Iterable[Sequence[object]]) -> list[tuple[End, str, End | LiteralValue]]:
    """Return the triples with their literals as such; raise `InputError` with the place of one that cannot be."""
    if isinstance(triples, str | bytes):
        raise InputError(f"expected triples (head, relation, tail), found {quote_line(str(triples))}")
    return [_read(place, triple) for place, triple in enumerate(triples, start=1)]


def _read(place: int, triple: Sequence[object]) -> tuple[End, str, End | LiteralValue]:
    if not isinstance(triple, tuple | list) or len(triple) != 3:
        raise InputError(f"triple {place}: expected (head, relation, tail), found {quote_line(repr(triple))}")
    given_head, relation, given_tail = triple
    if not isinstance(relation, str):
        raise InputError(f"triple {place}: expected a relation as text, found {quote_line(repr(relation))}")
    head, tail = _read_end(given_head), _read_end(given_tail)
    if head is None or tail is None:
        found = quote_line(repr(given_head if head is None else given_tail))
        raise InputError(f"triple {place}: expected an entity's id or name, or a value, found {found}")
    if isinstance(head, LiteralValue):
        raise InputError(f"triple {place}: a literal is never a head: {quote_line(repr(triple))}")
    if fault := _fault_of_end(head) or fault_of_relation(relation) or _fault_of_end(tail):
        raise InputError(f"triple {place}: {fault}: {quote_line(repr(triple))}")
    return head, relation, tail


def _read_end(end: object) -> End | LiteralValue | None:
    """Return what stands at an end; None for what cannot."""
    if isinstance(end, bool | int | float | Decimal | date | time):
        return LiteralValue.of(end)
    if isinstance(end, Entity) and end.is_literal:
        return _literal_of(end)
    return end if isinstance(end, str | Entity | LiteralValue) else None


def _fault_of_end(end: End | LiteralValue) -> str | None:
    if isinstance(end, LiteralValue):
        return fault_of_literal(end)
    return fault_of_id(end.id if isinstance(end, Entity) else end)


_TERM = re.compile(r'"(?:[^"\\]|\\.)*"(?:@(?P<language>[A-Za-z0-9-]+)|\^\^<(?P<datatype>[^<>\s]*)>)?', re.DOTALL)


def _literal_of(entity: Entity) -> LiteralValue:
    """Return the literal that an answer or a path has as an entity: its id is its term, its name its value."""
    term = _TERM.fullmatch(entity.id)
    if term is None:
        raise InputError(f"expected a literal by its term, found {quote_line(entity.id)}: give a LiteralValue")
    return LiteralValue(entity.name or "", term["datatype"], term["language"])


def fault_of_id(id_: str) -> str | None:
    """Return why this cannot be an entity's id, or None when it can."""
    if not id_:
        return "an id is empty"
    if "\0" in id_:
        return "an id has a zero byte in it"
    if _is_no_text(id_):
        return "an id is not UTF-8 text"
    if len(id_) > MAX_ID_BYTES // 4 and len(id_.encode()) > MAX_ID_BYTES:
        return f"an id is longer than {MAX_ID_BYTES:,} bytes"
    return None


def fault_of_relation(name: str) -> str | None:
    """Return why this cannot be a relation's name, or None when it can."""
    if not name:
        return "the relation is empty"
    if _is_no_text(name):
        return "the relation is not UTF-8 text"
    if len(name.encode()) > MAX_ID_BYTES:
        return f"the relation is longer than {MAX_ID_BYTES:,} bytes"
    try:
        quote_identifier(name)
    except ValueError:
        return "the relation has a zero byte or \\u in it, which Neo4j cannot have in a relationship type"
    return None


def fault_of_literal(literal: LiteralValue) -> str | None:
    """Return why this cannot be a literal, or None when it can."""
    if "\0" in literal.value or _is_no_text(literal.value):
        return "a literal has a zero byte in it or is not UTF-8 text"
    if len(literal.value) > MAX_VALUE_CHARS:
        return f"a literal is longer than {MAX_VALUE_CHARS:,} characters"
    if literal.datatype is not None and (literal.language or not _IRI.fullmatch(literal.datatype)):
        return "a literal has an IRI as datatype or a language, not both"
    if literal.language is not None and not LANGUAGE.fullmatch(literal.language):
        return "the language of a literal is a tag as en or pt-br"
    return None


def _is_no_text(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
