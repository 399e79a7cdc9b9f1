"""Read triples as a caller states them, and look up which entities, relations and triples they mean."""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

from ...models.message_text import quote_line
from ..errors import InputError, UsageError
from ..neo4j.catalogue import RelationInfo, read_catalogue
from ..neo4j.gateway import OpenTransaction
from ..neo4j.mining import find_entities_by_name
from ..neo4j.templates import Request, Row, quote_identifier, split_into_requests, template
from ..values import Entity, literal_term
from .records import Name, parse_name_properties

MAX_ID_BYTES = 8_000
"""Neo4j's range index takes keys of about 8,160 bytes."""
MAX_VALUE_CHARS = 1_000_000
LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
CHECKSUM_MODULUS = (1 << 63) - 1

_XSD = "http://www.w3.org/2001/XMLSchema#"
_IRI = re.compile(r'[^\x00-\x20<>"{}|^`\\]+')
_TERM = re.compile(r'"(?:[^"\\]|\\.)*"(?:@(?P<language>[A-Za-z0-9-]+)|\^\^<(?P<datatype>[^<>\s]*)>)?', re.DOTALL)
_NO_NAME = re.compile(r"[mg]\.[0-9a-z_]+|_:.*|[A-Za-z][A-Za-z0-9+.-]*:/.*", re.DOTALL)
"""What is an id and no name: Freebase's, a blank node's, an IRI."""
_PRIME = (1 << 31) - 1


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
        if isinstance(value, float) and not math.isfinite(value):
            return cls("NaN" if math.isnan(value) else "INF" if value > 0 else "-INF", f"{_XSD}double")
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
Parsed = tuple[End, str, End | LiteralValue]


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


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[8:], "little") % _PRIME


def parse_stated_triples(triples: Iterable[Sequence[object]]) -> list[Parsed]:
    """Return the triples with their literals as such; raise `InputError` with the place of one that cannot be."""
    if isinstance(triples, str | bytes):
        raise InputError(f"expected triples (head, relation, tail), found {quote_line(str(triples))}")
    return [_parse(place, triple) for place, triple in enumerate(triples, start=1)]


def _parse(place: int, triple: Sequence[object]) -> Parsed:
    shown = quote_line(repr(triple))
    if not isinstance(triple, tuple | list) or len(triple) != 3:
        raise InputError(f"triple {place}: expected (head, relation, tail), found {shown}")
    relation = triple[1]
    head, tail = map(_parse_end, (triple[0], triple[2]))
    if not isinstance(relation, str) or head is None or tail is None:
        raise InputError(
            f"triple {place}: expected an entity's id or name, a relation as text, and an entity or a value, found "
            f"{shown}"
        )
    if isinstance(head, LiteralValue):
        raise InputError(f"triple {place}: a literal is never a head: {shown}")
    if fault := _fault_of_end(head) or fault_of_relation(relation) or _fault_of_end(tail):
        raise InputError(f"triple {place}: {fault}: {shown}")
    return head, relation, tail


def _parse_end(end: object) -> End | LiteralValue | None:
    """Return what stands at an end; None for what cannot."""
    if isinstance(end, bool | int | float | Decimal | date | time):
        return LiteralValue.of(end)
    if isinstance(end, Entity) and end.is_literal:  # of an answer or a path: its id is its term, its name its value
        term = _TERM.fullmatch(end.id)
        if term is None:
            raise InputError(f"expected a literal by its term, found {quote_line(end.id)}: give a LiteralValue")
        return LiteralValue(end.name or "", term["datatype"], term["language"])
    return end if isinstance(end, str | Entity | LiteralValue) else None


def _fault_of_end(end: End | LiteralValue) -> str | None:
    if isinstance(end, LiteralValue):
        return fault_of_literal(end)
    return fault_of_id(end.id if isinstance(end, Entity) else end)


def fault_of_id(id_: str) -> str | None:
    """Return why this cannot be an entity's id, or None when it can."""
    if not id_:
        return "an id is empty"
    return _fault_of_text(id_, "an id")


def fault_of_relation(name: str) -> str | None:
    """Return why this cannot be a relation's name, or None when it can."""
    if not name:
        return "the relation is empty"
    if "\0" not in name and (fault := _fault_of_text(name, "the relation")):
        return fault
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


def _fault_of_text(text: str, what: str) -> str | None:
    if "\0" in text:
        return f"{what} has a zero byte in it"
    if _is_no_text(text):
        return f"{what} is not UTF-8 text"
    return f"{what} is longer than {MAX_ID_BYTES:,} bytes" if len(text.encode()) > MAX_ID_BYTES else None


def _is_no_text(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


# What the graph has


def run_batches(
    db: OpenTransaction,
    query: str,
    parameter: str,
    items: Iterable[Any],
    names: Mapping[str, str] | None = None,
    **params: Any,
) -> list[Row]:
    """Run a query of `cypher/` for each batch of the items, which are its parameter of this name; return all rows."""
    rows: list[Row] = []
    for batch in split_into_requests(items, 10_000, lambda item: len(str(item))):
        rows += db.run(Request(template(query), {parameter: batch, **params}, list, names or {}))
    return rows


def tail_label(is_literal: bool) -> Mapping[str, str]:
    """Return the label of tails, for the name in a query's text."""
    return {"TAIL": "Literal" if is_literal else "Entity"}


class EntityLookup:
    """The entities that texts mean, with their names: an id, else an exact name."""

    def __init__(self, db: OpenTransaction) -> None:
        self.names: dict[str, tuple[Name, ...]] = {}
        """The names of the entities that the graph has, by id."""
        self._db = db
        self._called: dict[str, tuple[str, ...]] = {}

    def read(self, triples: Iterable[Parsed], others: Iterable[str] = (), values: Iterable[str] = ()) -> None:
        """Read what the ends of the triples and other texts may mean; `values` may be those of literals, too."""
        ends = [end for head, _, tail in triples for end in (head, tail) if not isinstance(end, LiteralValue)]
        texts = dict.fromkeys([*(end for end in ends if isinstance(end, str)), *others])
        self._read_names({*texts, *(end.id for end in ends if isinstance(end, Entity))})
        wanted = {*(text for text in texts if text not in self.names), *values}
        for some in split_into_requests(sorted(wanted), 1_000, len):
            self._called |= self._db.run(find_entities_by_name(some))
        self._read_names({id_ for some in self._called.values() for id_ in some} - self.names.keys())

    def _read_names(self, ids: Iterable[str]) -> None:
        for id_, name, aliases, tags in run_batches(self._db, "read_names", "ids", sorted(ids)):
            self.names[id_] = parse_name_properties(name, aliases, tags)

    def candidates(self, end: End) -> tuple[str, ...]:
        """Return the ids of the entities that this may be; none where the graph has no such entity."""
        id_ = end.id if isinstance(end, Entity) else end
        if id_ in self.names:
            return (id_,)
        return () if isinstance(end, Entity) else tuple(i for i in self._called.get(end, ()) if i in self.names)

    def values(self, text: str) -> tuple[str, ...]:
        """Return the ids of the literals with this value."""
        return tuple(id_ for id_ in self._called.get(text, ()) if id_ not in self.names)

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


def resolve_relations(
    db: OpenTransaction, triples: Iterable[Parsed]
) -> tuple[dict[str, str], dict[str, KnownRelation]]:
    """Return the relation that each text means, itself where it is new, and those that the catalogue has.

    Raises `UsageError` for a label that several have.
    """
    wanted = sorted({relation for _, relation, _ in triples})
    known = {name: KnownRelation(*rest) for name, *rest in run_batches(db, "find_relations", "names", wanted)}
    meant = {name: name for name in wanted}
    if unknown := [name for name in wanted if name not in known]:
        labelled: defaultdict[str, list[RelationInfo]] = defaultdict(list)
        for relation in db.run(read_catalogue()).relations:
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


def read_stating_loads(db: OpenTransaction, triples: Iterable[TripleKey]) -> dict[TripleKey, tuple[int, ...]]:
    """Return the numbers of the loads that state each triple of the graph among these."""
    found = {}
    triples = list(triples)
    for is_literal in (False, True):
        some = [list(triple[:3]) for triple in triples if triple.is_literal == is_literal]
        for ends, loads in run_batches(db, "read_stating_loads", "triples", some, tail_label(is_literal)):
            head, relation, tail = ends
            found[TripleKey(head, relation, tail, is_literal)] = tuple(loads)
    return found


def read_signatures(db: OpenTransaction, ids: Iterable[str]) -> dict[str, dict[int, int]]:
    """Return how many triples each relation has at the entities with these ids, by catalogue number."""
    found = {}
    for id_, _, signature in run_batches(db, "read_signature_counts", "ids", ids):
        numbers = signature or []
        half = len(numbers) // 2
        found[id_] = dict(zip(numbers[:half], numbers[half:], strict=True))
    return found
