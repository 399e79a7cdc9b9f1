"""Record in the graph what a load wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import GraphError, UsageError
from ..neo4j.catalogue import GRAPH_VERSION, GraphState, LoadManifest, RelationInfo, read_catalogue
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request, Row, split_into_requests, template
from .names import BASE_LOAD
from .relations import RelationRow

INDEX_TIMEOUT_S = 24 * 3_600

_PLACES = {
    "entity_id": ("Entity", "id"),
    "literal_id": ("Literal", "id"),
    "relation_name": ("Relation", "name"),
    "relation_number": ("Relation", "number"),
    "load_sha256": ("Load", "sha256"),
    "load_lock": ("LoadLock", "name"),
    "entity_names": ("Entity", "search_names"),
}
"""Label and property of each index, by name."""
_OF_A_LOAD = ("entity_id", "literal_id", "relation_name", "relation_number", "load_sha256")


def check_schema(gateway: Gateway) -> set[str]:
    """Return the names of the indexes; raise `GraphError` if another has one of our names, which would block
    ours."""
    indexes = gateway.fetch(_read_indexes())
    for name, labels, properties in indexes:
        if name in _PLACES and (labels, properties) != tuple([part] for part in _PLACES[name]):
            label, property_ = _PLACES[name]
            raise GraphError(
                f"the database has an index {name} on {'|'.join(labels)}({', '.join(properties)}), expected it on "
                f"{label}({property_}): drop it, or name another database with --database"
            )
    return {name for name, _, _ in indexes}


def ensure_schema(gateway: Gateway) -> None:
    """Create the constraints and the index that a graph needs, where one is missing."""
    missing = set(_PLACES) - check_schema(gateway)
    if "load_lock" in missing:
        ensure_lock_constraint(gateway)
    if missing - {"load_lock"}:
        ensure_constraints(gateway)
        ensure_name_index(gateway)


def check_graph_was_loaded(state: GraphState, loads: Sequence[LoadManifest]) -> None:
    """Raise `UsageError` for a graph that no load wrote."""
    if not loads and (num_foreign := state.num_entities + state.num_literals):
        raise UsageError(
            f"the database has {num_foreign:,} nodes called Entity or Literal that no load of Lodestar's wrote, and "
            "which it leaves alone: name another database with --database, or another server with --name"
        )


def ensure_lock_constraint(gateway: Gateway) -> None:
    """Create the constraint behind the load lock."""
    gateway.execute(_request("ensure_load_lock"))


def ensure_constraints(gateway: Gateway) -> None:
    """Create the constraints that a load needs."""
    for name in _OF_A_LOAD:
        gateway.execute(_request(f"ensure_{name}"))


def ensure_name_index(gateway: Gateway) -> None:
    """Create the name index, and wait until all indexes are filled."""
    gateway.execute(_request("ensure_entity_names"))
    gateway.execute(Request(template("await_indexes"), {"timeout_s": INDEX_TIMEOUT_S}, _no_rows))


def _read_indexes() -> Request[list[tuple[str, list[str], list[str]]]]:
    return Request(template("read_indexes"), {}, lambda rows: [(row[0], row[1] or [], row[2] or []) for row in rows])


def _request(name: str) -> Request[None]:
    return Request(template(name), {}, _no_rows)


def _no_rows(rows: Sequence[Row]) -> None:
    """Decode the rows of a command that returns none."""


_RELATIONS_A_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Manifest:
    """The graph's record of a load; counts are the source's, without duplicates."""

    sha256: str
    number: int
    source: str
    kind: str
    writer: str
    options: Mapping[str, object]
    num_triples: int
    num_entities: int
    num_literals: int
    num_relations: int
    num_names: int
    num_duplicates: int
    checksum: str
    replaces: bool = False
    """Whether it replaces the graph's content; stored among the options until the load finishes."""
    stated_words: str | None = None
    """What the source says of relations beside its triples (`StatedWords`), as JSON; None for nothing."""

    def as_properties(self) -> Mapping[str, object]:
        """Return the properties of the ``:Load`` node of a running load, without its times."""
        properties = asdict(self)
        replaces = {"replaces": True} if properties.pop("replaces") else {}
        return properties | {
            "options": json.dumps({**self.options, **replaces}, sort_keys=True),
            "graph_version": GRAPH_VERSION,
            "num_removed": None,
        }


def labels_of(load: int) -> list[str]:
    """Return the labels that mark what a load states; none for the base load."""
    return [] if load == BASE_LOAD else [f"Load{load}"]


def make_write_request(name: str, names: Mapping[str, str] | None = None, **params: Any) -> Request[None]:
    """Return the request of a template that returns no rows."""
    return Request(template(name), params, _nothing, names or {})


def begin_load(gateway: Gateway, manifest: Manifest) -> Sequence[RelationInfo]:
    """Create the constraints, write the manifest as unfinished, and return the graph's relations."""
    ensure_constraints(gateway)
    gateway.fetch(make_write_request("begin_load", sha256=manifest.sha256, properties=manifest.as_properties()))
    return gateway.fetch(read_catalogue()).relations


def write_relations(gateway: Gateway, rows: Sequence[RelationRow]) -> None:
    """Put relations into the catalogue."""
    for batch in split_into_requests(
        (row.as_parameters() for row in rows), _RELATIONS_A_BATCH, lambda row: len(str(row))
    ):
        gateway.fetch(make_write_request("write_relations", relations=batch))


def finish_load(gateway: Gateway, manifest: Manifest) -> None:
    """Create the name index, wait until all indexes are filled, and mark the load as finished."""
    ensure_name_index(gateway)
    options = json.dumps(manifest.options, sort_keys=True)
    gateway.fetch(make_write_request("finish_load", sha256=manifest.sha256, options=options))


def _nothing(rows: Sequence[Row]) -> None:
    """Decode the rows of a query that returns none."""
