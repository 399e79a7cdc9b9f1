"""Add and remove single triples, in one transaction each, with all that rests on them kept right.

Names, relation signatures, counts, manifests and the edition are brought in line by what changes, not by reading the
graph again: the time does not depend on its size. What is added belongs to a load of its own, called ``changes``; what
is removed is taken from every load that states it.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ...models.message_text import quote_line
from ..errors import EntityNotFoundError, GraphError, InputError, UsageError
from ..neo4j.catalogue import LoadManifest, read_catalogue, read_graph_state, read_loads
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request, template
from ..relations.words import refresh_end_kinds
from ..steps import Steps, send_one
from ..values import Entity
from .records import (
    BASE_LOAD,
    Manifest,
    Name,
    add_load_names,
    check_graph_was_loaded,
    ensure_schema,
    labels_of,
    make_name_properties,
    make_write_request,
    relation_rows,
)
from .stated import (
    CHECKSUM_MODULUS,
    LANGUAGE,
    End,
    EntityLookup,
    KnownRelation,
    LiteralValue,
    Stated,
    TripleKey,
    default_entity_name,
    fault_of_id,
    find_literals,
    parse_stated_triples,
    read_signatures,
    read_triple_loads,
    resolve_relations,
    send_batches,
    tail_label,
)
from .typed_values import add_typed_values

SOURCE = "changes"
"""The name of the load that added triples belong to, and its kind."""
CHANGES_SHA256 = hashlib.sha256(SOURCE.encode()).hexdigest()
MAX_TRIPLES = 100_000
"""Of one change, because the database holds all of a transaction in memory."""


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """What a change did. Entities are ids, relations their names."""

    num_added: int = 0
    num_known: int = 0
    """Triples to add that the graph had."""
    num_removed: int = 0
    num_missing: int = 0
    """Triples to remove that the graph did not have."""
    num_names: int = 0
    """Names that were new to their entities."""
    new_entities: tuple[str, ...] = ()
    new_relations: tuple[str, ...] = ()
    removed_entities: tuple[str, ...] = ()
    """Entities that no triple has any more."""
    removed_relations: tuple[str, ...] = ()

    def __str__(self) -> str:
        counts = (
            (self.num_added, "added"),
            (self.num_known, "there already"),
            (self.num_removed, "removed"),
            (self.num_missing, "not there"),
        )
        parts = [f"{number:,} {what}" for number, what in counts if number] or ["nothing to change"]
        if self.num_names:
            parts.append(f"{self.num_names:,} new names")
        for what, some in (
            ("new entities", self.new_entities),
            ("new relations", self.new_relations),
            ("entities without triples removed", self.removed_entities),
            ("relations without triples removed", self.removed_relations),
        ):
            if some:
                shown = ", ".join(map(quote_line, some[:_SHOWN])) + (" …" if len(some) > _SHOWN else "")
                parts.append(f"{len(some):,} {what} ({shown})")
        return "; ".join(parts)


_SHOWN = 3
Names = Mapping[str, str | Name | Sequence[str | Name]]
"""A name, or a name and aliases, of entities by id or name: texts, or `Name` with a language."""


def add_triples(gateway: Gateway, triples: Iterable[Stated], names: Names | None = None) -> ChangeReport:
    """Add triples and names to the graph: all of them, or none where an error is raised.

    A text is the id of an entity, else its exact name, else the id of a new entity, which is called by it. A relation
    is known by its name or its label. `names` has a name, or a name and aliases, of entities by id or name; of a
    `Name` its text, language and whether it is an alias count.

    Raises `InputError` for what cannot be a triple or a name, `UsageError` for a name that several have and for more
    than `MAX_TRIPLES`, `GraphError` for a graph that is not whole, `LoadInProgressError` while a load runs.
    """
    stated = _check_number(parse_stated_triples(triples))
    said = {text: _check_names(text, given) for text, given in (names or {}).items()}
    if not (loads := gateway.run(read_loads())):
        check_graph_was_loaded(gateway.run(read_graph_state()), loads)
    ensure_schema(gateway)
    report = gateway.write(lambda: _add(stated, said))
    if report.new_relations:
        refresh_end_kinds(gateway)
    return report


def remove_triples(gateway: Gateway, triples: Iterable[Stated], *, missing_ok: bool = False) -> ChangeReport:
    """Remove triples, and the entities and relations that no triple has any more: all of them, or none.

    A text is the id or the exact name of an entity, at the end of a triple also the value of a literal.

    Raises `EntityNotFoundError` for an entity, `GraphError` for a triple that is not there, unless
    `missing_ok`; otherwise as `add_triples`.
    """
    stated = _check_number(parse_stated_triples(triples))
    ensure_schema(gateway)
    return gateway.write(lambda: _remove(stated, missing_ok))


_Read = tuple[End, str, End | LiteralValue]


def _check_number(stated: list[_Read]) -> list[_Read]:
    if len(stated) > MAX_TRIPLES:
        raise UsageError(f"expected at most {MAX_TRIPLES:,} triples in one change: give more to `lodestar load`")
    return stated


def _check_names(id_: str, given: str | Name | Sequence[str | Name]) -> tuple[Name, ...]:
    some = [given] if isinstance(given, str | Name) else list(given)
    names = [each if isinstance(each, Name) else Name(each, is_alias=place > 0) for place, each in enumerate(some)]
    for name in names:
        if not isinstance(name.text, str) or not name.text.strip() or (fault_of_id(name.text) is not None):
            raise InputError(
                f"expected a name of at most 8,000 bytes of text for {quote_line(id_)}, found "
                f"{quote_line(str(name.text))}"
            )
        if name.language and not LANGUAGE.fullmatch(name.language):
            raise InputError(
                f"expected a language as en or pt-br for the name {quote_line(name.text)}, found "
                f"{quote_line(name.language)}"
            )
    return tuple(names)


def check_loads_complete(loads: Sequence[LoadManifest]) -> None:
    """Raise `GraphError` unless all loads are finished."""
    for load in loads:
        if not load.finished:
            what = "the deletion of the load" if load.deleting else "the load"
            raise GraphError(f"{what} of {load.source} did not finish: finish it by the same command, then change more")


def _add(stated: Sequence[_Read], said: Mapping[str, Sequence[Name]]) -> Steps[ChangeReport]:
    changes = yield from _read_changes()
    lookup = EntityLookup()
    yield from lookup.read([*_texts(stated), *said], _ids(stated))
    meant, relations = yield from resolve_relations(relation for _, relation, _ in stated)
    ends: dict[str, End] = {}
    literals: dict[str, LiteralValue] = {}
    triples: dict[TripleKey, None] = {}
    for head, relation, tail in stated:
        ids = []
        for end in (head, tail):
            if isinstance(end, LiteralValue):
                literals[end.id] = end
                ids.append(end.id)
            else:
                ids.append(lookup.resolve(end))
                ends[ids[-1]] = end
        triples[TripleKey(ids[0], meant[relation], ids[1], isinstance(tail, LiteralValue))] = None
    stating = yield from read_triple_loads(triples)
    stated_now = [triple for triple in triples if changes.number not in stating.get(triple, ())]
    created = [triple for triple in triples if triple not in stating]
    named = {lookup.resolve(text): names for text, names in said.items()}
    touched = dict.fromkeys(end for triple in stated_now for end in triple.entities)
    if strange := [id_ for id_ in named if id_ not in lookup.names and id_ not in touched]:
        raise EntityNotFoundError(f"the graph has no entity {quote_line(strange[0])} to name: add a triple with it")
    new = [id_ for id_ in touched if id_ not in lookup.names]
    entities, num_names = [], 0
    for id_ in dict.fromkeys((*touched, *named)):
        known = lookup.names.get(id_, ())
        names = add_load_names(
            known, named.get(id_) or (() if id_ in lookup.names else default_entity_name(ends[id_])), changes.number
        )
        num_names += len(names) - len(known)
        if id_ in touched or names != known:
            entities.append(make_name_properties(names).as_row(id_))
    num_known = len(triples) - len(created)
    if not entities:
        return ChangeReport(num_known=num_known)
    if not changes.finished:
        yield from _begin_changes(changes)
    new_relations = yield from _add_relations(created, relations)
    used = dict.fromkeys(triple.tail for triple in stated_now if triple.is_literal)
    num_literals = len(used) - len((yield from find_literals(used)))
    labels = labels_of(changes.number)
    yield from _write(
        "write_literals", "literals", add_typed_values(literals[id_].as_row() for id_ in used), labels=labels
    )
    yield from _write("write_entities", "entities", add_typed_values(entities), labels=labels)
    yield from _merge_triples(stated_now, relations, changes.number)
    yield from _count_triples(created, relations, 1)
    news = {
        "num_entities": changes.num_entities + len(new),
        "num_literals": changes.num_literals + num_literals,
        "num_relations": changes.num_relations + len(new_relations),
        "num_names": changes.num_names + num_names,
    }
    yield from _write("write_changed_loads", "loads", [_change_load(changes, stated_now, 1) | news])
    return ChangeReport(len(created), num_known, 0, 0, num_names, tuple(new), new_relations)


def _texts(stated: Iterable[_Read]) -> list[str]:
    return [end for head, _, tail in stated for end in (head, tail) if isinstance(end, str)]


def _ids(stated: Iterable[_Read]) -> list[str]:
    return [end.id for head, _, tail in stated for end in (head, tail) if isinstance(end, Entity)]


def _read_changes() -> Steps[LoadManifest]:
    """Return the manifest of the load of changes; an unfinished one where there is none yet."""
    loads = yield from send_one(read_loads())
    check_loads_complete(loads)
    number = max((load.number for load in loads), default=BASE_LOAD - 1) + 1
    new = LoadManifest(CHANGES_SHA256, number, SOURCE, SOURCE, checksum="0")
    return next((load for load in loads if load.sha256 == CHANGES_SHA256), new)


def _begin_changes(load: LoadManifest) -> Steps[None]:
    manifest = Manifest(CHANGES_SHA256, load.number, SOURCE, SOURCE, "online", {}, 0, 0, 0, 0, 0, 0, "0")
    yield from send_one(make_write_request("begin_load", sha256=CHANGES_SHA256, properties=manifest.as_properties()))
    yield from send_one(make_write_request("finish_load", sha256=CHANGES_SHA256, options="{}"))


def _add_relations(created: Iterable[TripleKey], relations: dict[str, KnownRelation]) -> Steps[tuple[str, ...]]:
    """Put new relations into the catalogue, and into `relations`; return their names."""
    counts = Counter(triple.relation for triple in created)
    new = sorted(counts.keys() - relations.keys())
    if new:
        catalogue = yield from send_one(read_catalogue())
        staged = [(place, name, counts[name]) for place, name in enumerate(new)]
        rows = relation_rows(staged, catalogue.relations, {})
        yield from _write("write_relations", "relations", [row.as_parameters() for row in rows])
        relations |= {row.name: KnownRelation.of(row) for row in rows}
    return tuple(new)


def _merge_triples(triples: Sequence[TripleKey], relations: Mapping[str, KnownRelation], load: int) -> Steps[None]:
    for query, related in (("merge_triples", False), ("merge_related_triples", True)):
        for is_literal in (False, True):
            some = [
                list(triple[:3])
                for triple in triples
                if triple.is_literal == is_literal and (relations[triple.relation].stored_as is not None) == related
            ]
            yield from _write(query, "triples", some, tail_label(is_literal), load=load)


def _count_triples(triples: Sequence[TripleKey], relations: Mapping[str, KnownRelation], sign: int) -> Steps[list[str]]:
    """Add triples to the counts of their relations and to the signatures of their ends, or take them out (sign -1).

    Returns the entities without triples.
    """
    of_relation = Counter(triple.relation for triple in triples)
    counts = {name: relations[name].count + sign * number for name, number in of_relation.items()}
    yield from send_one(make_write_request("set_relation_counts", counts=counts))
    changed: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for triple in triples:
        changed[triple.head][relations[triple.relation].number] += sign
        if not triple.is_literal:
            changed[triple.tail][-relations[triple.relation].number] += sign
    rows = []
    for id_, old in (yield from read_signatures(changed)).items():
        sums = Counter(old)
        sums.update(changed[id_])
        numbers = sorted(number for number, count in sums.items() if count > 0)
        sizes = [sums[number] for number in numbers]
        rows.append({"id": id_, "relations": numbers, "counts": sizes, "degree": sum(sizes)})
    yield from _write("write_signatures", "entities", rows)
    return [str(row["id"]) for row in rows if not row["degree"]]


def _change_load(load: LoadManifest, triples: Collection[TripleKey], sign: int) -> dict[str, Any]:
    """Return what changes in the manifest of a load that states more triples now, or fewer (sign -1)."""
    checksum = int(load.checksum or 0) + sign * sum(triple.fingerprint for triple in triples)
    return {
        "sha256": load.sha256,
        "num_triples": load.num_triples + sign * len(triples),
        "checksum": str(checksum % CHECKSUM_MODULUS),
    }


def _write(
    query: str, parameter: str, items: Iterable[Any], names: Mapping[str, str] | None = None, **params: Any
) -> Steps[None]:
    """Send a write request for each batch of the items."""
    yield from send_batches(items, lambda batch: make_write_request(query, names, **{parameter: batch}, **params))


def _remove(stated: Sequence[_Read], missing_ok: bool) -> Steps[ChangeReport]:
    loads = yield from send_one(read_loads())
    check_loads_complete(loads)
    lookup = EntityLookup()
    values = [tail for _, _, tail in stated if isinstance(tail, str)]
    yield from lookup.read(_texts(stated), _ids(stated), values)
    meant, relations = yield from resolve_relations(relation for _, relation, _ in stated)
    choices = [_choices(lookup, head, meant[relation], tail) for head, relation, tail in stated]
    stating = yield from read_triple_loads(dict.fromkeys(triple for some in choices for triple in some))
    removed: dict[TripleKey, None] = {}
    num_missing = 0
    for place, (triple, some) in enumerate(zip(stated, choices, strict=True), start=1):
        there = [choice for choice in some if choice in stating]
        if len(there) > 1:
            listed = " and ".join(map(str, there[:2]))
            raise UsageError(f"triple {place}: several triples fit, {listed}: give ids, and literals as LiteralValue")
        if not there and not missing_ok:
            raise _absence(lookup, place, *triple)
        num_missing += not there
        removed |= dict.fromkeys(there)
    if not removed:
        return ChangeReport(num_missing=num_missing)
    for is_literal in (False, True):
        rows = [list(triple[:3]) for triple in removed if triple.is_literal == is_literal]
        yield from _write("remove_triples", "triples", rows, tail_label(is_literal))
    alone = yield from _count_triples(list(removed), relations, -1)
    orphans = yield from send_batches(alone, lambda ids: _remove_orphans(ids, is_literal=False))
    tails = dict.fromkeys(triple.tail for triple in removed if triple.is_literal)
    yield from send_batches(tails, lambda ids: _remove_orphans(ids, is_literal=True))
    gone = Counter(triple.relation for triple in removed)
    unused = tuple(name for name, number in gone.items() if relations[name].count == number)
    if unused:
        yield from send_one(make_write_request("delete_unused_relations"))
    changed = []
    for load in loads:
        if of_load := [triple for triple in removed if load.number in stating[triple]]:
            rest = {} if load.sha256 == CHANGES_SHA256 else {"num_removed": load.num_removed + len(of_load)}
            changed.append(_change_load(load, of_load, -1) | rest)
    yield from _write("write_changed_loads", "loads", changed)
    return ChangeReport(
        num_removed=len(removed),
        num_missing=num_missing,
        removed_entities=tuple(id_ for some in orphans for id_ in some),
        removed_relations=unused,
    )


def _choices(lookup: EntityLookup, head: End, relation: str, tail: End | LiteralValue) -> list[TripleKey]:
    """Return the triples that may be meant."""
    heads = lookup.candidates(head)
    if isinstance(tail, LiteralValue):
        return [TripleKey(id_, relation, tail.id, True) for id_ in heads]
    found = [TripleKey(ids[0], relation, ids[1], False) for ids in product(heads, lookup.candidates(tail))]
    values = lookup.values(tail) if isinstance(tail, str) else ()
    return found + [TripleKey(ids[0], relation, ids[1], True) for ids in product(heads, values)]


def _absence(lookup: EntityLookup, place: int, head: End, relation: str, tail: End | LiteralValue) -> GraphError:
    """Return the error about a triple that is not there."""
    for end in (head, tail):
        if not isinstance(end, LiteralValue) and not lookup.candidates(end):
            text = end.id if isinstance(end, Entity) else end
            if not lookup.values(text):
                return EntityNotFoundError(f"triple {place}: no entity is {quote_line(text)}: nothing was removed")
    shown = ", ".join(quote_line(end if isinstance(end, str) else end.id) for end in (head, relation, tail))
    return GraphError(f"triple {place}: the graph has no triple ({shown}): nothing was removed")


def _remove_orphans(ids: Sequence[str], *, is_literal: bool) -> Request[list[str]]:
    return Request(
        template("remove_orphans"), {"ids": list(ids)}, lambda rows: [id_ for (id_,) in rows], tail_label(is_literal)
    )
