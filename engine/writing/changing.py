"""Add and remove single triples, in one transaction each, with all that rests on them kept right.

Names, relation signatures, counts, manifests and the edition are brought in line by what changes, not by reading the
graph again: the time does not depend on its size. What is added belongs to a load of its own, called ``changes``; what
is removed is taken from every load that states it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from itertools import product
from typing import Any, NamedTuple

from ...models import quote_line
from .. import writing
from ..data_model import XSD, format_literal_term
from ..errors import EntityNotFoundError, GraphError, InputError, UsageError
from ..neo4j import Row, split_into_request_batches
from ..neo4j.catalogue import LoadManifest, RelationInfo, read_catalogue, read_graph_state, read_loads
from ..neo4j.gateway import Gateway, OpenTransaction
from ..neo4j.graph_requests import find_entities_by_name
from ..relations import refresh_end_kinds
from ..writing import BASE_LOAD, EntityName, make_write_request, run_batches

_MAX_ID_BYTES = 8_000  # Neo4j's range index takes keys of about 8,160 bytes
MAX_VALUE_CHARS = 1_000_000
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_CHECKSUM_MODULUS = (1 << 63) - 1

_DATATYPES = {  # a datetime is a date, too, and a bool an int
    bool: "boolean", int: "integer", float: "double", Decimal: "decimal",
    datetime: "dateTime", date: "date", time: "time",
}  # fmt: skip
_IRI = re.compile(r'[^\x00-\x20<>"{}|^`\\]+')
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
        datatype = next(name for kind, name in _DATATYPES.items() if isinstance(value, kind))
        if isinstance(value, float | Decimal) and not math.isfinite(value):
            return cls("NaN" if math.isnan(value) else "INF" if value > 0 else "-INF", f"{XSD}double")
        text = value.isoformat() if isinstance(value, date | time) else str(value)
        return cls(text.lower() if isinstance(value, bool) else text, XSD + datatype)

    @property
    def id(self) -> str:
        """The literal's id in the graph: its N-Triples term, or the hash of a longer one."""
        term = format_literal_term(self.value, self.datatype, self.language)
        if len(term.encode()) > _MAX_ID_BYTES:
            return f"sha256:{hashlib.sha256(term.encode()).hexdigest()}"
        return term


Stated = tuple[str, str, str | LiteralValue | bool | int | float | Decimal | date | time]
"""A triple as a caller states it: a text is the id or the name of an entity; other values of Python are literals."""
_Parsed = tuple[str, str, str | LiteralValue]


class _TripleKey(NamedTuple):
    head: str
    relation: str
    tail: str
    is_literal: bool

    @property
    def entities(self) -> tuple[str, ...]:
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


def parse_stated_triples(triples: Iterable[Sequence[object]]) -> list[_Parsed]:
    """Return the triples with their literals as such; raise `InputError` with the place of one that cannot be."""
    if isinstance(triples, str | bytes):
        raise InputError(f"expected triples (head, relation, tail), found {quote_line(str(triples))}")
    return [_parse(place, triple) for place, triple in enumerate(triples, start=1)]


def _parse(place: int, triple: Sequence[object]) -> _Parsed:
    fault, shown = "expected (head, relation, tail)", quote_line(repr(triple))
    if isinstance(triple, tuple | list) and len(triple) == 3:
        relation = triple[1]
        head, tail = map(_parse_end, (triple[0], triple[2]))
        if not isinstance(relation, str) or head is None or tail is None:
            fault = "expected an entity's id or name, a relation as text, and an entity or a value"
        elif isinstance(head, LiteralValue):
            fault = "a literal is never a head"
        elif not (fault := _fault_of_end(head) or _fault_of_relation(relation) or _fault_of_end(tail) or ""):
            return head, relation, tail
    raise InputError(f"triple {place}: {fault}, found {shown}")


def _parse_end(end: object) -> str | LiteralValue | None:
    if isinstance(end, bool | int | float | Decimal | date | time):
        return LiteralValue.of(end)
    return end if isinstance(end, str | LiteralValue) else None


def _fault_of_end(end: str | LiteralValue) -> str | None:
    if not isinstance(end, LiteralValue):
        return _fault_of_id(end)
    if "\0" in end.value or _is_no_text(end.value):
        return "a literal has a zero byte in it or is not UTF-8 text"
    if len(end.value) > MAX_VALUE_CHARS:
        return f"a literal is longer than {MAX_VALUE_CHARS:,} characters"
    if end.datatype is not None and (end.language or not _IRI.fullmatch(end.datatype)):
        return "a literal has an IRI as datatype or a language, not both"
    if end.language is not None and not _LANGUAGE.fullmatch(end.language):
        return "the language of a literal is a tag as en or pt-br"
    return None


def _fault_of_id(id_: str, what: str = "an id") -> str | None:
    if not id_:
        return f"{what} is empty"
    if "\0" in id_:
        return f"{what} has a zero byte in it"
    if _is_no_text(id_):
        return f"{what} is not UTF-8 text"
    return f"{what} is longer than {_MAX_ID_BYTES:,} bytes" if len(id_.encode()) > _MAX_ID_BYTES else None


def _fault_of_relation(name: str) -> str | None:
    if "\0" in name or "\\u" in name:
        return "the relation has a zero byte or \\u in it, which Neo4j cannot have in a relationship type"
    return _fault_of_id(name, "the relation")


def _is_no_text(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


class _EntityLookup:
    """The entities that the ends of triples and other texts mean: by id, else by an exact name.

    with_values: whether a tail may be the value of a literal, too.
    """

    def __init__(
        self, db: OpenTransaction, triples: Sequence[_Parsed], others: Iterable[str] = (), *, with_values: bool = False
    ) -> None:
        texts = {*others, *(end for head, _, tail in triples for end in (head, tail) if isinstance(end, str))}
        self.names = writing.read_names(db, sorted(texts))
        """The names of the entities that the graph has, by id."""
        self._called: dict[str, tuple[str, ...]] = {}
        values = {tail for _, _, tail in triples if with_values and isinstance(tail, str)}
        for some in split_into_request_batches(sorted(values | (texts - self.names.keys())), 1_000, len):
            self._called |= db.run(find_entities_by_name(some))
        self.names |= writing.read_names(db, {id_ for ids in self._called.values() for id_ in ids} - self.names.keys())

    def candidates(self, text: str) -> tuple[str, ...]:
        """Return the ids of the entities that this may be; none where the graph has no such entity."""
        return (text,) if text in self.names else tuple(i for i in self._called.get(text, ()) if i in self.names)

    def values(self, text: str) -> tuple[str, ...]:
        return tuple(id_ for id_ in self._called.get(text, ()) if id_ not in self.names)

    def resolve(self, text: str) -> str:
        """Return the id of an entity, itself where it is new; raise `UsageError` where several have the name."""
        found = self.candidates(text)
        if len(found) > 1:
            some = ", ".join(map(quote_line, found[:5]))
            raise UsageError(f"several entities are called {quote_line(text)}: give the id of one of {some}")
        return found[0] if found else text


def _resolve_relations(
    db: OpenTransaction, triples: Iterable[_Parsed]
) -> tuple[dict[str, str], dict[str, RelationInfo]]:
    """Return the relation that each text means, itself where it is new, and those that the catalogue has.

    Raises `UsageError` for a label that several have.
    """
    wanted = sorted({relation for _, relation, _ in triples})
    rows = run_batches(db, "find_relations", "names", wanted)
    known = {row[0]: RelationInfo(row[1], row[0], "", row[2], stored_as=row[3]) for row in rows}
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
                known[some[0].name] = some[0]
    return meant, known


def _run_on_triples(db: OpenTransaction, query: str, triples: Collection[_TripleKey], **params: Any) -> list[Row]:
    rows: list[Row] = []
    for tail in ("Entity", "Literal"):
        some = [list(triple[:3]) for triple in triples if triple.is_literal == (tail == "Literal")]
        rows += run_batches(db, query, "triples", some, {"TAIL": tail}, **params)
    return rows


def _read_stating_loads(db: OpenTransaction, triples: Collection[_TripleKey]) -> dict[_TripleKey, tuple[int, ...]]:
    rows = _run_on_triples(db, "read_stating_loads", triples)
    return {_TripleKey(triple[0], triple[1], triple[2], is_literal): tuple(loads) for triple, is_literal, loads in rows}


CHANGES = "changes"  # the name of the load that added triples belong to, and its kind
_CHANGES_SHA256 = hashlib.sha256(CHANGES.encode()).hexdigest()
MAX_TRIPLES = 100_000  # of one change, because the database holds all of a transaction in memory
_SHOWN = 3

Names = Mapping[str, str | Sequence[str]]
"""A name, or a name and aliases, of entities by id or name."""


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """What a change did. Entities are ids, relations their names."""

    num_added: int = 0
    num_known: int = 0  # triples to add that the graph had
    num_removed: int = 0
    num_names: int = 0  # names that were new to their entities
    new_entities: tuple[str, ...] = ()
    new_relations: tuple[str, ...] = ()
    removed_entities: tuple[str, ...] = ()  # entities that no triple has any more
    removed_relations: tuple[str, ...] = ()

    def __str__(self) -> str:
        counts = (self.num_added, "added"), (self.num_known, "there already"), (self.num_removed, "removed")
        parts = [f"{num:,} {what}" for num, what in counts if num]
        parts = parts or ["nothing to change"]
        parts += [f"{self.num_names:,} new names"] if self.num_names else []
        listed = (
            ("new entities", self.new_entities),
            ("new relations", self.new_relations),
            ("entities without triples removed", self.removed_entities),
            ("relations without triples removed", self.removed_relations),
        )
        for what, some in listed:
            if some:
                shown = ", ".join(map(quote_line, some[:_SHOWN])) + (" …" if len(some) > _SHOWN else "")
                parts.append(f"{len(some):,} {what} ({shown})")
        return "; ".join(parts)


def add_triples(gateway: Gateway, triples: Iterable[Stated], names: Names | None = None) -> ChangeReport:
    """Add triples and names to the graph: all of them, or none where an error is raised.

    A text is the id of an entity, else its exact name, else the id of a new entity, which is called by it. A relation
    is known by its name or its label. `names` has a name, or a name and aliases, of entities by id or name.

    Raises `InputError` for what cannot be a triple or a name, `UsageError` for a name that several have and for more
    than `MAX_TRIPLES`, `GraphError` for a graph that is not whole, `LoadInProgressError` while a load runs.
    """
    stated = _check_number(parse_stated_triples(triples))
    named = {text: _check_names(text, given) for text, given in (names or {}).items()}
    if not (loads := gateway.run(read_loads())):
        writing.check_graph_was_loaded(gateway.run(read_graph_state()), loads)
    writing.ensure_schema(gateway)
    report = gateway.write(lambda db: _add(db, stated, named))
    refresh_end_kinds(gateway, report.new_relations)
    return report


def remove_triples(gateway: Gateway, triples: Iterable[Stated]) -> ChangeReport:
    """Remove triples, and the entities and relations that no triple has any more: all of them, or none.

    A text is the id or the exact name of an entity, at the end of a triple also the value of a literal.

    Raises `EntityNotFoundError` for an entity, `GraphError` for a triple that is not there; otherwise as `add_triples`.
    """
    stated = _check_number(parse_stated_triples(triples))
    writing.ensure_schema(gateway)
    return gateway.write(lambda db: _remove(db, stated))


def _check_number(stated: list[_Parsed]) -> list[_Parsed]:
    if len(stated) > MAX_TRIPLES:
        raise UsageError(f"expected at most {MAX_TRIPLES:,} triples in one change: give more to `lodestar load`")
    return stated


def _check_names(id_: str, given: str | Sequence[str]) -> tuple[EntityName, ...]:
    texts = [given] if isinstance(given, str) else list(given)
    for text in texts:
        if not isinstance(text, str) or not text.strip() or _fault_of_id(text) is not None:
            found = quote_line(str(text))
            raise InputError(f"expected a name of at most 8,000 bytes of text for {quote_line(id_)}, found {found}")
    return tuple(EntityName(text, is_alias=place > 0) for place, text in enumerate(texts))


def check_loads_complete(loads: Sequence[LoadManifest]) -> None:
    for load in loads:
        if not load.finished:
            what = "the deletion of the load" if load.deleting else "the load"
            raise GraphError(
                f"{what} of {load.source} has not finished: finish it by the same command, then change more"
            )


def _add(
    db: OpenTransaction, stated: Sequence[_Parsed], named_texts: Mapping[str, Sequence[EntityName]]
) -> ChangeReport:
    changes = _read_changes(db)
    lookup = _EntityLookup(db, stated, named_texts)
    meant, relations = _resolve_relations(db, stated)
    literals: dict[str, LiteralValue] = {}
    triples: dict[_TripleKey, None] = {}
    for head, relation, tail in stated:
        tail_id = tail.id if isinstance(tail, LiteralValue) else lookup.resolve(tail)
        literals |= {tail_id: tail} if isinstance(tail, LiteralValue) else {}
        triples[_TripleKey(lookup.resolve(head), meant[relation], tail_id, isinstance(tail, LiteralValue))] = None
    stating = _read_stating_loads(db, triples)
    stated_now = [triple for triple in triples if changes.number not in stating.get(triple, ())]
    created = [triple for triple in triples if triple not in stating]
    named = {lookup.resolve(text): names for text, names in named_texts.items()}
    touched = dict.fromkeys(end for triple in stated_now for end in triple.entities)
    if strange := [id_ for id_ in named if id_ not in lookup.names and id_ not in touched]:
        raise EntityNotFoundError(f"the graph has no entity {quote_line(strange[0])} to name: add a triple with it")
    entities = {}
    for id_ in dict.fromkeys((*touched, *named)):
        known = lookup.names.get(id_, ())
        is_called = id_ in lookup.names or not id_.strip() or _NO_NAME.fullmatch(id_)  # or is no name itself
        given = named.get(id_) or (() if is_called else (EntityName(id_),))
        names = writing.add_names_stated_by_load(known, given, changes.number)
        if id_ in touched or names != known:
            entities[id_] = names
    num_names = sum(len(names) - len(lookup.names.get(id_, ())) for id_, names in entities.items())
    num_known = len(triples) - len(created)
    if not entities:
        return ChangeReport(num_known=num_known)
    if not changes.finished:
        writing.begin_load(db, changes)
        db.run(make_write_request("finish_load", sha256=_CHANGES_SHA256, options="{}"))
    new_relations = _add_relations(db, created, relations)
    used = {triple.tail: literals[triple.tail] for triple in stated_now if triple.is_literal}
    num_literals = len(used) - len(run_batches(db, "find_literals", "ids", used))
    rows = writing.add_typed_values_to_rows({"id": id_, **asdict(literal)} for id_, literal in used.items())
    run_batches(db, "write_literals", "literals", rows, labels=writing.make_load_labels(changes.number))
    writing.write_names(db, entities.items(), changes.number)
    for query, is_related in (("merge_triples", False), ("merge_related_triples", True)):
        some = [triple for triple in stated_now if (relations[triple.relation].stored_as is not None) == is_related]
        _run_on_triples(db, query, some, load=changes.number)
    _count_triples(db, created, relations, 1)
    new = tuple(id_ for id_ in touched if id_ not in lookup.names)
    counts = {
        "num_entities": changes.num_entities + len(new),
        "num_literals": changes.num_literals + num_literals,
        "num_relations": changes.num_relations + len(new_relations),
        "num_names": changes.num_names + num_names,
    }
    run_batches(db, "write_changed_loads", "loads", [_change_load(changes, stated_now, 1) | counts])
    return ChangeReport(len(created), num_known, 0, num_names, new, new_relations)


def _read_changes(db: OpenTransaction) -> LoadManifest:
    loads = db.run(read_loads())
    check_loads_complete(loads)
    number = max((load.number for load in loads), default=BASE_LOAD - 1) + 1
    new = LoadManifest(_CHANGES_SHA256, number, CHANGES, CHANGES, checksum="0", writer="online")
    return next((load for load in loads if load.sha256 == _CHANGES_SHA256), new)


def _add_relations(
    db: OpenTransaction, created: Iterable[_TripleKey], relations: dict[str, RelationInfo]
) -> tuple[str, ...]:
    counts = Counter(triple.relation for triple in created if triple.relation not in relations)
    if counts:
        rows = writing.make_catalogue_rows(counts, db.run(read_catalogue()).relations)
        writing.write_relations(db, rows)
        relations |= {row.name: replace(row, count=0) for row in rows}
    return tuple(sorted(counts))


def _count_triples(
    db: OpenTransaction, triples: Collection[_TripleKey], relations: Mapping[str, RelationInfo], sign: int
) -> list[str]:
    """Add triples to the counts of their relations and to the signatures of their ends, or take them out (sign -1).

    Returns the entities without triples.
    """
    of_relation = Counter(triple.relation for triple in triples)
    counts = {name: relations[name].count + sign * number for name, number in of_relation.items()}
    db.run(make_write_request("set_relation_counts", counts=counts))
    changed: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for triple in triples:
        changed[triple.head][relations[triple.relation].number] += sign
        if not triple.is_literal:
            changed[triple.tail][-relations[triple.relation].number] += sign
    rows = []
    for id_, _, signature in run_batches(db, "read_signature_counts", "ids", changed):
        known = signature or []
        half = len(known) // 2
        sums = Counter[int](dict(zip(known[:half], known[half:], strict=True)))
        sums.update(changed[id_])
        numbers = sorted(number for number, count in sums.items() if count > 0)
        sizes = [sums[number] for number in numbers]
        rows.append({"id": id_, "relations": numbers, "counts": sizes, "degree": sum(sizes)})
    run_batches(db, "write_signatures", "entities", rows)
    return [str(row["id"]) for row in rows if not row["degree"]]


def _change_load(load: LoadManifest, triples: Collection[_TripleKey], sign: int) -> dict[str, Any]:
    checksum = int(load.checksum or 0) + sign * sum(triple.fingerprint for triple in triples)
    return {
        "sha256": load.sha256,
        "num_triples": load.num_triples + sign * len(triples),
        "checksum": str(checksum % _CHECKSUM_MODULUS),
    }


def _remove(db: OpenTransaction, stated: Sequence[_Parsed]) -> ChangeReport:
    loads = db.run(read_loads())
    check_loads_complete(loads)
    lookup = _EntityLookup(db, stated, with_values=True)
    meant, relations = _resolve_relations(db, stated)
    choices = [_choices(lookup, head, meant[relation], tail) for head, relation, tail in stated]
    stating = _read_stating_loads(db, dict.fromkeys(triple for some in choices for triple in some))
    removed: dict[_TripleKey, None] = {}
    for place, (triple, some) in enumerate(zip(stated, choices, strict=True), start=1):
        there = [choice for choice in some if choice in stating]
        if len(there) > 1:
            listed = " and ".join(map(str, there[:2]))
            raise UsageError(f"triple {place}: several triples fit, {listed}: give ids, and literals as LiteralValue")
        if not there:
            raise _absence(lookup, place, *triple)
        removed |= dict.fromkeys(there)
    if not removed:
        return ChangeReport()
    _run_on_triples(db, "remove_triples", removed)
    alone = _count_triples(db, removed, relations, -1)
    orphans = run_batches(db, "remove_orphans", "ids", alone, {"TAIL": "Entity"})
    tails = dict.fromkeys(triple.tail for triple in removed if triple.is_literal)
    run_batches(db, "remove_orphans", "ids", tails, {"TAIL": "Literal"})
    gone = Counter(triple.relation for triple in removed)
    unused = tuple(name for name, number in gone.items() if relations[name].count == number)
    if unused:
        db.run(make_write_request("delete_unused_relations"))
    changed = []
    for load in loads:
        if of_load := [triple for triple in removed if load.number in stating[triple]]:
            rest = {} if load.sha256 == _CHANGES_SHA256 else {"num_removed": load.num_removed + len(of_load)}
            changed.append(_change_load(load, of_load, -1) | rest)
    run_batches(db, "write_changed_loads", "loads", changed)
    return ChangeReport(
        num_removed=len(removed),
        removed_entities=tuple(id_ for (id_,) in orphans),
        removed_relations=unused,
    )


def _choices(lookup: _EntityLookup, head: str, relation: str, tail: str | LiteralValue) -> list[_TripleKey]:
    heads = lookup.candidates(head)
    if isinstance(tail, LiteralValue):
        return [_TripleKey(id_, relation, tail.id, True) for id_ in heads]
    found = [_TripleKey(ids[0], relation, ids[1], False) for ids in product(heads, lookup.candidates(tail))]
    return found + [_TripleKey(ids[0], relation, ids[1], True) for ids in product(heads, lookup.values(tail))]


def _absence(lookup: _EntityLookup, place: int, head: str, relation: str, tail: str | LiteralValue) -> GraphError:
    for end in (head, tail):
        if isinstance(end, str) and not lookup.candidates(end) and not lookup.values(end):
            return EntityNotFoundError(f"triple {place}: no entity is {quote_line(end)}: nothing was removed")
    shown = ", ".join(quote_line(end if isinstance(end, str) else end.id) for end in (head, relation, tail))
    return GraphError(f"triple {place}: the graph has no triple ({shown}): nothing was removed")
