"""The manifest of a load: what the graph remembers of it, unfinished from the first write to the last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...engine.database.catalogue import GRAPH_VERSION, RelationInfo, read_catalogue
from ...engine.database.gateway import Gateway
from ...engine.database.requests import Request, Row, in_requests
from ...engine.database.templates import template
from .relation_types import RelationRow
from .schema import ensure_constraints, ensure_names
from .stored_names import BASE_LOAD

_RELATIONS_A_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a graph remembers of a load; counts are those of its source, without duplicates."""

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
    """It takes the place of what the graph held: remembered among the options until the load is finished."""

    def as_properties(self) -> Mapping[str, object]:
        """Return the properties of the ``:Load`` node of a load under way, without its times."""
        properties = asdict(self)
        replaces = {"replaces": True} if properties.pop("replaces") else {}
        return properties | {
            "options": json.dumps({**self.options, **replaces}, sort_keys=True),
            "graph_version": GRAPH_VERSION,
        }


def labels_of(load: int) -> list[str]:
    """Return the labels of what a load states, by which it is found again: none for the base load, which is all."""
    return [] if load == BASE_LOAD else [f"Load{load}"]


def request(name: str, names: Mapping[str, str] | None = None, **params: Any) -> Request[None]:
    """Return the request of a template that returns no rows."""
    return Request(template(name), params, _nothing, names or {})


def begin(gateway: Gateway, manifest: Manifest) -> Sequence[RelationInfo]:
    """Make the constraints, write the manifest as unfinished, and return the relations that the graph has."""
    ensure_constraints(gateway)
    gateway.fetch(request("begin_load", sha256=manifest.sha256, properties=manifest.as_properties()))
    return gateway.fetch(read_catalogue()).relations


def write_relations(gateway: Gateway, rows: Sequence[RelationRow]) -> None:
    """Put relations into the catalogue."""
    for batch in in_requests((row.as_parameters() for row in rows), _RELATIONS_A_BATCH, lambda row: len(str(row))):
        gateway.fetch(request("write_relations", relations=batch))


def finish(gateway: Gateway, manifest: Manifest) -> None:
    """Make the name index, wait until all indexes are filled, and mark the load as finished."""
    ensure_names(gateway)
    options = json.dumps(manifest.options, sort_keys=True)
    gateway.fetch(request("finish_load", sha256=manifest.sha256, options=options))


def _nothing(rows: Sequence[Row]) -> None:
    """Decode the rows of a query that returns none."""
