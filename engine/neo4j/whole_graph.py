"""Read a whole graph: all triples and names in a total order, and the figures of `lodestar db status`.

Triples are ordered by head, relation, entities before literals, and tail; names by entity. Ids and relations are in
code point order, which is the order of Python and of UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from .catalogue import LoadManifest, read_full_state, read_loads
from .gateway import Gateway
from .templates import Request, Row, template

CHUNK_SIZE = 200
"""Triples per row, and a good number of rows to fetch at a time; a hub arrives in chunks of their product."""


class StatedTail(NamedTuple):
    """The tail of a triple: an entity by its id, or a literal by its value."""

    relation: str
    tail: str
    is_literal: bool = False
    datatype: str | None = None
    language: str | None = None


class HeadTriples(NamedTuple):
    """Some triples of one head, in order; more of the same head may follow."""

    head: str
    tails: tuple[StatedTail, ...]


class EntityNames(NamedTuple):
    """The name properties of an entity in the graph."""

    id: str
    name: str
    aliases: tuple[str, ...]
    name_tags: str | None


class HeadTriplesWithLoads(NamedTuple):
    """Some triples of one head, each with its loads as last item; more of the same head may follow."""

    head: str
    tails: tuple[tuple[str, str, bool, str | None, str | None, list[int]], ...]


def stream_triples_with_loads(numbers: Mapping[str, int]) -> Request[HeadTriplesWithLoads]:
    """Stream all triples with their loads, by head; `numbers` are the catalogue numbers of the relations."""

    def decode(rows: Sequence[Row]) -> HeadTriplesWithLoads:
        head, triples = rows[0]
        return HeadTriplesWithLoads(head, tuple(map(_triple_key, triples)))

    return Request(template("stream_stated_triples"), {"numbers": dict(numbers), "chunk_size": CHUNK_SIZE}, decode)


def stream_triples(ranks: Mapping[str, int], load: int | None = None) -> Request[HeadTriples]:
    """Stream all triples, or those of the load with this number; `ranks` are from `relation_ranks`."""

    def decode(rows: Sequence[Row]) -> HeadTriples:
        head, triples = rows[0]
        return HeadTriples(head, tuple(map(_tail, triples)))

    params = {"load": load, "ranks": dict(ranks), "chunk_size": CHUNK_SIZE}
    return Request(template("stream_triples"), params, decode)


def stream_names() -> Request[EntityNames]:
    """Stream the named entities with all their names."""

    def decode(rows: Sequence[Row]) -> EntityNames:
        id_, name, aliases, tags = rows[0]
        return EntityNames(id_, name, tuple(aliases or ()), tags)

    return Request(template("stream_names"), {}, decode)


def relation_ranks(names: Iterable[str]) -> dict[str, int]:
    """Return the rank of each relation in code point order; empty if Neo4j's own order is the same.

    Neo4j compares relationship types by UTF-16 units, where characters beyond U+FFFF come before U+E000.
    """
    by_code_points = sorted(names)
    if by_code_points == sorted(by_code_points, key=lambda name: name.encode("utf-16-be")):
        return {}
    return {name: rank for rank, name in enumerate(by_code_points)}


def _tail(triple: list[Any]) -> StatedTail:
    if len(triple) == 2:
        return StatedTail(*triple)
    relation, value, datatype, language = triple
    return StatedTail(relation, value, True, datatype, language)


def _triple_key(triple: list[Any]) -> tuple[str, str, bool, str | None, str | None, list[int]]:
    relation, tail, loads, *kind = triple
    datatype, language = kind or (None, None)
    return relation, tail, bool(kind), datatype, language, loads


def read_figures(gateway: Gateway) -> dict[str, Any] | None:
    """Return the sizes and loads of a graph as JSON data; None for an empty one."""
    state = read_full_state(gateway)
    loads = gateway.run(read_loads())
    if state.is_empty and not loads:
        return None
    return {
        "num_entities": state.num_entities,
        "num_literals": state.num_literals,
        "num_relations": state.num_relations,
        "num_triples": state.num_triples,
        "loads": [asdict(load) | {"state": describe_state(load, under_way=state.under_way)} for load in loads],
    }


def describe_state(load: LoadManifest, *, under_way: bool) -> str:
    """Return when a load finished, or in words why it has not."""
    half_there = "under way" if under_way else "did not finish"
    return f"deletion {half_there}" if load.deleting else load.finished or half_there
