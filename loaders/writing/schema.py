"""The constraints and indexes of a graph: made where they are missing, and not taken for others that are called so."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.database.gateway import Gateway
from ...engine.database.requests import Request, Row
from ...engine.database.templates import template
from ...engine.errors import GraphError

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
"""Label and property of each, by its name."""
_OF_A_LOAD = ("entity_id", "literal_id", "relation_name", "relation_number", "load_sha256")


def check_schema(gateway: Gateway) -> None:
    """Raise `GraphError` where one of the names is that of another index, which would keep ours from being made."""
    for name, labels, properties in gateway.fetch(_read_indexes()):
        if name in _PLACES and (labels, properties) != tuple([part] for part in _PLACES[name]):
            label, property_ = _PLACES[name]
            raise GraphError(
                f"the database has an index {name} on {'|'.join(labels)}({', '.join(properties)}), expected it on "
                f"{label}({property_}): drop it, or name another database with --database"
            )


def ensure_lock(gateway: Gateway) -> None:
    """Make the constraint that the lock of loads rests on."""
    gateway.execute(_request("ensure_load_lock"))


def ensure_constraints(gateway: Gateway) -> None:
    """Make the constraints that a load needs."""
    for name in _OF_A_LOAD:
        gateway.execute(_request(f"ensure_{name}"))


def ensure_names(gateway: Gateway) -> None:
    """Make the index of names, and wait until all indexes are filled."""
    gateway.execute(_request("ensure_entity_names"))
    gateway.execute(Request(template("await_indexes"), {"timeout_s": INDEX_TIMEOUT_S}, _nothing))


def _read_indexes() -> Request[list[tuple[str, list[str], list[str]]]]:
    return Request(template("read_indexes"), {}, lambda rows: [(row[0], row[1] or [], row[2] or []) for row in rows])


def _request(name: str) -> Request[None]:
    return Request(template(name), {}, _nothing)


def _nothing(rows: Sequence[Row]) -> None:
    """Decode the rows of a command that returns none."""
