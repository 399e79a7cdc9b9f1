"""Read triples as a caller states them, and look up which entities, relations and triples they mean."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import NamedTuple, TypeVar

from ...models.message_text import quote_line
from ..errors import InputError, UsageError
from ..neo4j.catalogue import RelationInfo, read_catalogue
from ..neo4j.mining import find_entities_by_name
from ..neo4j.templates import Request, quote_identifier, split_into_requests, template
from ..steps import Steps, send_all, send_one
from ..values import Entity, literal_term
from .records import Name, RelationRow, parse_name_properties

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


T = TypeVar("T")
S = TypeVar("S")

BATCH_SIZE = 10_000
NAMES_A_BATCH = 1_000
_NO_NAME = re.compile(r"[mg]\.[0-9a-z_]+|_:.*|[A-Za-z][A-Za-z0-9+.-]*:/.*", re.DOTALL)
"""What is an id and no name: Freebase's, a blank node's, an IRI."""


def send_batches(items: Iterable[S], make: Callable[[list[S]], Request[T]], size: int = BATCH_SIZE) -> Steps[list[T]]:
    """Send the requests of the items, batch after batch."""
    answers: list[T] = []
    for batch in split_into_requests(items, size, lambda item: len(str(item))):
        answers += yield from send_all([make(batch)])
    return answers


class EntityLookup:
    """The entities that texts mean, with their names: an id, else an exact name."""

    def __init__(self) -> None:
        self.names: dict[str, tuple[Name, ...]] = {}
        """The names of the entities that the graph has, by id."""
        self._called: dict[str, tuple[str, ...]] = {}
        self._values: dict[str, tuple[str, ...]] = {}

    def read(self, texts: Iterable[str], ids: Iterable[str], values: Iterable[str] = ()) -> Steps[None]:
        """Read what the texts and ids may mean; `values` may be those of literals, too."""
        texts = list(dict.fromkeys(texts))
        yield from self._read_names({*texts, *ids})
        wanted = {*(text for text in texts if text not in self.names), *values}
        found: dict[str, tuple[str, ...]] = {}
        for some in (yield from send_batches(sorted(wanted), find_entities_by_name, NAMES_A_BATCH)):
            found |= some
        yield from self._read_names({id_ for some in found.values() for id_ in some} - self.names.keys())
        for text, ids_of_text in found.items():
            self._called[text] = tuple(id_ for id_ in ids_of_text if id_ in self.names)
            self._values[text] = tuple(id_ for id_ in ids_of_text if id_ not in self.names)

    def _read_names(self, ids: Iterable[str]) -> Steps[None]:
        for found in (yield from send_batches(sorted(ids), _read_names)):
            self.names |= found

    def candidates(self, end: End) -> tuple[str, ...]:
        """Return the ids of the entities that this may be; none where the graph has no such entity."""
        id_ = end.id if isinstance(end, Entity) else end
        if id_ in self.names:
            return (id_,)
        return () if isinstance(end, Entity) else self._called.get(end, ())

    def values(self, text: str) -> tuple[str, ...]:
        """Return the ids of the literals with this value."""
        return self._values.get(text, ())

    def resolve(self, end: End) -> str:
        """Return the id of an entity, itself where it is new; raise `UsageError` where several have the name."""
        found = self.candidates(end)
        if len(found) > 1:
            some = ", ".join(map(quote_line, found[:5]))
            raise UsageError(f"several entities are called {quote_line(str(end))}: give the id of one of {some}")
        return found[0] if found else end.id if isinstance(end, Entity) else end


def default_entity_name(end: End) -> tuple[Name, ...]:
    """Return the name of a new entity that none is given for: what it is called by, unless that is but an id."""
    text = end.name if isinstance(end, Entity) else None if _NO_NAME.fullmatch(end) else end
    return (Name(text),) if text and text.strip() else ()


@dataclass(frozen=True, slots=True)
class KnownRelation:
    """A relation as the catalogue has it now."""

    number: int
    count: int
    stored_as: str | None

    @classmethod
    def of(cls, row: RelationRow) -> KnownRelation:
        """Return a relation that has just been put into the catalogue."""
        return cls(row.number, 0, row.stored_as)


def resolve_relations(names: Iterable[str]) -> Steps[tuple[dict[str, str], dict[str, KnownRelation]]]:
    """Return the relation that each text means, itself where it is new, and those that the catalogue has.

    Raises `UsageError` for a label that several have.
    """
    wanted = sorted(set(names))
    known: dict[str, KnownRelation] = {}
    for found in (yield from send_batches(wanted, _find_relations)):
        known |= found
    meant = {name: name for name in wanted}
    if unknown := [name for name in wanted if name not in known]:
        labelled: defaultdict[str, list[RelationInfo]] = defaultdict(list)
        for relation in (yield from send_one(read_catalogue())).relations:
            for label in {relation.label.casefold(), relation.shown_label.casefold()}:
                labelled[label].append(relation)
        for name in unknown:
            some = labelled.get(name.casefold(), [])
            if len(some) > 1:
                listed = ", ".join(quote_line(relation.name) for relation in some[:5])
                raise UsageError(f"several relations are called {quote_line(name)}: give the name of one of {listed}")
            if some:
                meant[name] = some[0].name
                known[some[0].name] = KnownRelation(some[0].number, some[0].count, some[0].stored_as)
    return meant, known


def read_triple_loads(triples: Iterable[TripleKey]) -> Steps[dict[TripleKey, tuple[int, ...]]]:
    """Return the numbers of the loads that state each triple of the graph among these."""
    found: dict[TripleKey, tuple[int, ...]] = {}
    triples = list(triples)
    for is_literal in (False, True):
        some = [triple for triple in triples if triple.is_literal == is_literal]
        for answer in (yield from send_batches(some, _read_stating)):
            found |= answer
    return found


def read_signatures(ids: Iterable[str]) -> Steps[dict[str, dict[int, int]]]:
    """Return how many triples each relation has at the entities with these ids, by catalogue number."""
    signatures: dict[str, dict[int, int]] = {}
    for found in (yield from send_batches(ids, _read_signatures)):
        signatures |= found
    return signatures


def find_literals(ids: Iterable[str]) -> Steps[set[str]]:
    """Return the ids of the literals of the graph among these."""
    found = yield from send_batches(ids, _find_literals)
    return set().union(*found)


def _read_names(ids: Sequence[str]) -> Request[dict[str, tuple[Name, ...]]]:
    return Request(
        template("read_names"),
        {"ids": list(ids)},
        lambda rows: {id_: parse_name_properties(name, aliases, tags) for id_, name, aliases, tags in rows},
    )


def _find_relations(names: Sequence[str]) -> Request[dict[str, KnownRelation]]:
    return Request(
        template("find_relations"),
        {"names": list(names)},
        lambda rows: {name: KnownRelation(*of_relation) for name, *of_relation in rows},
    )


def _read_stating(triples: Sequence[TripleKey]) -> Request[dict[TripleKey, tuple[int, ...]]]:
    return Request(
        template("read_stating_loads"),
        {"triples": [list(triple[:3]) for triple in triples]},
        lambda rows: {triples[place]: tuple(loads) for place, loads in rows},
        tail_label(triples[0].is_literal),
    )


def tail_label(is_literal: bool) -> Mapping[str, str]:
    """Return the label of tails, for the name in a query's text."""
    return {"TAIL": "Literal" if is_literal else "Entity"}


def _read_signatures(ids: Sequence[str]) -> Request[dict[str, dict[int, int]]]:
    def decode(rows: Sequence[tuple[str, str | None, list[int] | None]]) -> dict[str, dict[int, int]]:
        found = {}
        for id_, _, signature in rows:
            numbers = signature or []
            half = len(numbers) // 2
            found[id_] = dict(zip(numbers[:half], numbers[half:], strict=True))
        return found

    return Request(template("read_signature_counts"), {"ids": list(ids)}, decode)


def _find_literals(ids: Sequence[str]) -> Request[set[str]]:
    return Request(template("find_literals"), {"ids": list(ids)}, lambda rows: {id_ for (id_,) in rows})
