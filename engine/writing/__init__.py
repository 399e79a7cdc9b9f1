"""Write what all writers share: names of entities, typed values, relations of the catalogue, schema, and manifests.

The names of an entity, with the language of each and the load that stated it, are stored as ``name``, ``aliases`` and
``name_tags``: one tag per text, in order, separated by spaces, or no tags if all are default. A tag is
``<language>[/alias|/name][#<load>[+<load>…]]``, or ``-``. By default the first text is a name and all others are
aliases, without language, stated by the base load.

Typed values are numbers with their dimensions, and dates as the days that they may mean. Every writer keeps them beside
a literal's text, so that every comparison reads the same value. Which texts have one: ``typed_values.sql``.

Neo4j's counts per relationship type are a relation's counts, unless some relationships of that type are not triples:
those between nodes that are not Lodestar's.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import duckdb
import pyarrow as pa

from ...models.wording import find_initials, find_other_spellings
from ..errors import DatabaseError, GraphError, UsageError
from ..neo4j import Request, Row, load_query, split_into_request_batches
from ..neo4j.catalogue import (
    GRAPH_VERSION,
    LABEL_SEPARATOR,
    GraphState,
    LoadManifest,
    RelationInfo,
    read_relation_counts,
)
from ..neo4j.gateway import Gateway, OpenTransaction

Writer = Gateway | OpenTransaction
"""What runs requests: each in a transaction of its own, or all in an open one."""
BASE_LOAD = 1
BATCH_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class EntityName:
    """A name that loads state for an entity."""

    text: str
    language: str = ""
    is_alias: bool = False
    loads: tuple[int, ...] = (BASE_LOAD,)


def parse_stored_entity_names(
    name: str | None, aliases: Sequence[str] | None, tags: str | None
) -> tuple[EntityName, ...]:
    if name is None:
        return ()
    texts = [name, *(aliases or ())]
    tag_list = tags.split(" ") if tags else ["-"] * len(texts)
    return tuple(_read(text, tag, position) for position, (text, tag) in enumerate(zip(texts, tag_list, strict=True)))


def make_entity_row(id_: str, names: Sequence[EntityName]) -> dict[str, Any]:
    """Return an entity's row for write_entities.cypher, None for each property it lacks; `parse_stored_entity_names`
    inverts it."""
    tags = [_tag(name, position) for position, name in enumerate(names)]
    texts = [name.text for name in names]
    return {
        "id": id_,
        "name": texts[0] if texts else None,
        "aliases": texts[1:] or None,
        "search_names": build_search_terms(texts),
        "name_tags": " ".join(tags) if set(tags) - {"-"} else None,
    }


def build_search_terms(texts: Iterable[str]) -> list[str] | None:
    """Return the search terms of an entity with these names: search forms, then other spellings and initials."""
    whole = list(filter(None, map(normalise_search_name, texts)))
    others = (other for name in whole for other in (*find_other_spellings(name), *find_initials(name)))
    return list(dict.fromkeys([*whole, *others])) or None


def add_names_stated_by_load(
    known: Sequence[EntityName], stated: Iterable[EntityName], load: int
) -> tuple[EntityName, ...]:
    """Return the names after a load has stated some: known ones keep their place, new ones follow."""
    merged = {(name.text, name.language): name for name in known}
    for name in stated:
        key = name.text, name.language
        if old := merged.get(key):
            merged[key] = replace(old, loads=tuple(sorted({*old.loads, load})))
        else:
            merged[key] = replace(name, loads=(load,))
    return tuple(merged.values())


def remove_names_stated_by_load(known: Sequence[EntityName], load: int) -> tuple[EntityName, ...]:
    rest = (replace(name, loads=tuple(number for number in name.loads if number != load)) for name in known)
    return tuple(name for name in rest if name.loads)


def _read(text: str, tag: str, position: int) -> EntityName:
    form, _, loads = tag.partition("#")
    language, _, kind = ("" if form == "-" else form).partition("/")
    return EntityName(
        text,
        language,
        is_alias=kind == "alias" or (position > 0 and kind != "name"),
        loads=tuple(map(int, loads.split("+"))) if loads else (BASE_LOAD,),
    )


def _tag(name: EntityName, position: int) -> str:
    kind = ""
    if name.is_alias != (position > 0):
        kind = "/alias" if name.is_alias else "/name"
    loads = "#" + "+".join(map(str, name.loads)) if name.loads != (BASE_LOAD,) else ""
    return f"{name.language}{kind}{loads}" or "-"


def normalise_search_name(name: str) -> str:
    """Return the search form of a name: composed (NFC), underscores as blanks, trimmed."""
    return unicodedata.normalize("NFC", name).replace("_", " ").strip()


def parse_relation_head_type(relation: str) -> str | None:
    """Return the type of the heads by a Freebase-like name (``domain.type`` of ``domain.type.property``)."""
    if "://" in relation:
        return None  # the host of an IRI is not a type
    type_, _, property_ = relation.partition("|")[0].rpartition(".")
    return type_ if property_ and "." in type_ else None


_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")


def make_relation_label(relation: str) -> str:
    """Return the readable words of a relation's name: its last part, or both last parts of a compound name."""
    parts = []
    for step in relation.split("|"):
        last = re.split(r"[./#:]", step.rstrip("./#:"))[-1]
        if words := " ".join(filter(None, _WORD_BREAK.split(last))).lower():
            parts.append(words)
    return LABEL_SEPARATOR.join(dict.fromkeys(parts)) or relation


MAX_TYPES = 65_000  # Neo4j Community allows 65,536 relationship types; the rest is for pictures and foreign data

RELATED = "RELATED"
"""The type of relationships whose relation has no type of its own; their property ``relation`` names it."""


@dataclass(frozen=True, slots=True)
class RelationMetadata:
    range: str | None = None
    inverse: str | None = None
    label: str | None = None  # A readable label, if the name is not readable


def make_catalogue_rows(
    counts: Mapping[str, int],
    known: Sequence[RelationInfo],
    facts: Mapping[str, RelationMetadata] | None = None,
    max_types: int | None = None,
) -> list[RelationInfo]:
    """Return relations, which come with their numbers of triples, for the catalogue of a graph that has the known ones.

    New relations continue the numbering in the order of their names. If there would be too many types, the new
    relations with the fewest triples get none of their own; `max_types` None is `MAX_TYPES`.
    """
    old = {relation.name: relation for relation in known}
    new = sorted(counts.keys() - old.keys())
    has_related = any(relation.stored_as for relation in known)
    room = (MAX_TYPES if max_types is None else max_types) - sum(not each.stored_as for each in known) - has_related
    can_be_types = (name for name in new if name != RELATED and name.strip())
    ranked = sorted(can_be_types, key=lambda name: (-counts[name], name))
    if len(ranked) > room and not has_related:
        room -= 1  # for RELATED itself
    typed = set(ranked[: max(room, 0)])
    first = max((relation.number for relation in known), default=0) + 1
    numbers = {name: number for number, name in enumerate(new, first)} | {each.name: each.number for each in known}
    rows = []
    for name, count in counts.items():
        fact = (facts or {}).get(name, RelationMetadata())
        label, domain = fact.label or make_relation_label(name), parse_relation_head_type(name)
        stored_as = old[name].stored_as if name in old else None if name in typed else RELATED
        rows.append(RelationInfo(numbers[name], name, label, count, domain, fact.range, fact.inverse, stored_as))
    return rows


def count_relation_triples(gateway: Gateway, relations: Sequence[RelationInfo]) -> dict[str, int]:
    """Return the number of triples of each of these relations, by Neo4j's own counts where these are exact."""
    counts = dict.fromkeys((relation.name for relation in relations), 0)
    try:
        kept = {name: sizes for name, *sizes in gateway.run(Request(load_query("count_relations"), {}, list))}
    except DatabaseError:  # some servers reserve these counts for administrators
        return counts | gateway.execute(read_relation_counts())
    for relation in relations:
        if relation.stored_as is None and (sizes := kept.get(relation.name)):
            is_exact = len(set(sizes)) == 1  # all, those that leave an entity, those that enter an entity or a literal
            visit = Request(
                load_query("count_triples_of"), {}, lambda rows: int(rows[0][0]), {"RELATION": relation.name}
            )
            counts[relation.name] = sizes[0] if is_exact else gateway.execute(visit)
    if any(relation.stored_as for relation in relations):
        counts |= gateway.execute(Request(load_query("count_related"), {}, dict))
    return counts


def make_deletion_params(relations: Sequence[RelationInfo], batch_size: int = BATCH_SIZE) -> dict[str, Any]:
    """Return the parameters of deletions of triples. For each triple that it deletes Neo4j may visit one record for
    each relation at a node: at most 2 million in a transaction, 100 bytes each; our own choice."""
    numbers = {relation.name: relation.number for relation in relations}
    return {"numbers": numbers, "batch_size": max(1, min(batch_size, 2_000_000 // max(1, len(numbers))))}


def refresh_triple_counts(gateway: Gateway, relations: Sequence[RelationInfo]) -> None:
    gateway.run(make_write_request("set_relation_counts", counts=count_relation_triples(gateway, relations)))


def refresh_signatures(
    gateway: Gateway, label: str, relations: Iterable[RelationInfo], batch_size: int = BATCH_SIZE
) -> None:
    """Bring the signatures of the entities with a label in line with the graph, by the relations of its catalogue."""
    params = {"numbers": {each.name: each.number for each in relations}, "batch_size": batch_size}
    gateway.execute(make_write_request("refresh_signatures", {"LABEL": label}, **params))


_INDEX_TIMEOUT_S = 24 * 3_600

_PLACES = {
    "entity_id": ("Entity", "id"),
    "literal_id": ("Literal", "id"),
    "relation_name": ("Relation", "name"),
    "relation_number": ("Relation", "number"),
    "load_sha256": ("Load", "sha256"),
    "load_lock": ("LoadLock", "name"),
    "literal_number": ("Literal", "number"),
    "literal_day": ("Literal", "first_day"),
    "entity_names": ("Entity", "search_names"),
}
"""Label and property of each index, by name."""


def ensure_schema(gateway: Gateway, *names: str) -> None:
    """Create the constraints and indexes of these names that are missing, all where none is named.

    Raises `GraphError` if another index has one of our names, which would block ours.
    """
    indexes = gateway.run(Request(load_query("read_indexes"), {}, list))
    for name, labels, properties in indexes:
        if name in _PLACES and (labels or [], properties or []) != tuple([part] for part in _PLACES[name]):
            label, property_ = _PLACES[name]
            raise GraphError(
                f"the database has an index {name} on {'|'.join(labels or ())}({', '.join(properties or ())}), "
                f"expected it on {label}({property_}): drop it, or name another database by LODESTAR_DATABASE"
            )
    there = {name for name, _, _ in indexes}
    for name in names or _PLACES:
        if name not in there:
            gateway.execute(make_write_request(f"ensure_{name}"))


def await_indexes(gateway: Gateway) -> None:
    gateway.execute(make_write_request("await_indexes", timeout_s=_INDEX_TIMEOUT_S))


def check_graph_was_loaded(state: GraphState, loads: Sequence[LoadManifest]) -> None:
    """Raise `UsageError` for a graph that no load wrote."""
    if not loads and (num_foreign := state.num_entities + state.num_literals):
        raise UsageError(
            f"the database has {num_foreign:,} nodes called Entity or Literal that no load of Lodestar's wrote, and "
            "which it leaves alone: name another database by LODESTAR_DATABASE, or another server with --name"
        )


def make_load_labels(load: int) -> list[str]:
    """Return the labels that mark what a load states; none for the base load."""
    return [] if load == BASE_LOAD else [f"Load{load}"]


def make_write_request(name: str, names: Mapping[str, str] | None = None, **params: Any) -> Request[None]:
    return Request(load_query(name), params, lambda _: None, names or {})


def run_batches(
    db: Writer,
    query: str,
    parameter: str,
    items: Iterable[Any],
    names: Mapping[str, str] | None = None,
    *,
    size: int = BATCH_SIZE,
    done: Callable[[int], None] = lambda _num: None,
    **params: Any,
) -> list[Row]:
    """Run a query of `cypher/` for each batch of the items, which are its parameter of this name; return all rows.

    `done` is told after each batch how many items it had.
    """
    rows: list[Row] = []
    for batch in split_into_request_batches(items, size, lambda item: len(str(item))):
        rows += db.run(Request(load_query(query), {parameter: batch, **params}, list, names or {}))
        done(len(batch))
    return rows


def begin_load(db: Writer, load: LoadManifest, *, replaces: bool = False, stated_words: str | None = None) -> None:
    """Write the manifest of a load as unfinished.

    replaces: whether it replaces the graph's content, which is kept among its options until it finishes.
    stated_words: what the source says of relations beside its triples (`StatedWords`), as JSON.
    """
    times = ("started", "finished", "deleting")
    properties = {name: value for name, value in asdict(load).items() if name not in times}
    if replaces:
        properties["options"] = json.dumps({**json.loads(load.options), "replaces": True}, sort_keys=True)
    properties |= {"num_removed": None, "graph_version": GRAPH_VERSION, "stated_words": stated_words}
    db.run(make_write_request("begin_load", sha256=load.sha256, properties=properties))


def write_relations(db: Writer, rows: Sequence[RelationInfo], *, counted: bool = False) -> None:
    """Put relations into the catalogue; `counted`: those that are new with their numbers of triples, else with 0."""
    params = [{name: getattr(row, name) for name in _WRITTEN} | {"count": row.count * counted} for row in rows]
    run_batches(db, "write_relations", "relations", params)


_WRITTEN = ("number", "name", "label", "domain", "range", "inverse", "stored_as")


def write_names(db: Writer, named: Iterable[tuple[str, Sequence[EntityName]]], load: int = BASE_LOAD) -> None:
    """Write entities with all their names and the typed values of these, and the label of the load."""
    rows = (make_entity_row(id_, names) for id_, names in named)
    for batch in split_into_request_batches(rows, BATCH_SIZE, lambda row: len(str(row))):
        run_batches(db, "write_entities", "entities", add_typed_values_to_rows(batch), labels=make_load_labels(load))


def read_names(db: Writer, ids: Iterable[str]) -> dict[str, tuple[EntityName, ...]]:
    return {id_: parse_stored_entity_names(*names) for id_, *names in run_batches(db, "read_names", "ids", ids)}


def finish_load(gateway: Gateway, load: LoadManifest) -> None:
    """Wait until all indexes are filled, and mark the load as finished."""
    await_indexes(gateway)
    gateway.run(make_write_request("finish_load", sha256=load.sha256, options=load.options))


_FIELDS = ("number", "dimension", "first_day", "last_day")
"""The properties of a typed value; those that a text has none of are null."""
MAX_CHARS = 41  # longer texts have no typed value
_TYPED = re.compile(r"[0-9]|^[+-]?INF$")  # what a text has that has a typed value


@cache
def make_typed_value_macros() -> str:
    """Return the statements that define ``typed_values('TABLE')`` on a connection of DuckDB."""
    return resources.files(__name__).joinpath("typed_values.sql").read_text(encoding="utf-8")


def find_typed_values(literals: Sequence[tuple[str, str | None]]) -> list[Mapping[str, object]]:
    """Return the typed values of texts with their datatypes, by `_FIELDS`."""
    found: list[Mapping[str, object]] = [dict.fromkeys(_FIELDS)] * len(literals)
    keys = [key for key, (text, _) in enumerate(literals) if len(text) < MAX_CHARS and _TYPED.search(text)]
    if not keys:
        return found  # a query of DuckDB takes a tenth of a second
    columns = {"text": [literals[key][0] for key in keys], "datatype": [literals[key][1] for key in keys]}
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(make_typed_value_macros())
        schema = pa.schema([("key", pa.int64()), ("text", pa.string()), ("datatype", pa.string())])
        connection.register("literals", pa.table({"key": keys, **columns}, schema))
        for key, *values in connection.execute("FROM typed_values('literals')").fetchall():
            found[key] = dict(zip(_FIELDS, values, strict=True))
    return found


def add_typed_values_to_rows(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return rows of entities (by name) or literals (by value, datatype and language) with their typed values."""
    rows = list(rows)
    texts = [
        ("" if row.get("language") else str(row.get("value") or row.get("name") or ""), row.get("datatype"))
        for row in rows
    ]
    return [{**row, **typed} for row, typed in zip(rows, find_typed_values(texts), strict=True)]  # type: ignore[arg-type]


@lru_cache(1_000)
def convert_to_base_unit(number: float | None, unit: str) -> tuple[float | None, str]:
    """Return a number in the base unit of its dimension, and the dimension; both as they are where it is not known."""
    if number is None or not unit:
        return number, ""
    (typed,) = find_typed_values([(f"{number!r} {unit}", None)])
    found = typed["number"]
    return (found, str(typed["dimension"])) if isinstance(found, float) else (number, unit)
