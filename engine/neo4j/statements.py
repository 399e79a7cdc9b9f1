"""Typed requests that stream all a graph states, in a total order; for `Gateway.stream`.

Triples come by head, relation, entities before literals, tail; names by entity. Ids and relations are in the order of
their code points, which is Python's and that of the bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .requests import Request, Row
from .templates import template

CHUNK_SIZE = 200
"""Triples in a row, and good for the rows to fetch at a time: a hub reaches the reader in pieces of their product."""


class StatedTail(NamedTuple):
    """What a triple of some head states: an entity by its id, or a literal by its value."""

    relation: str
    tail: str
    is_literal: bool = False
    datatype: str | None = None
    language: str | None = None


class HeadTriples(NamedTuple):
    """Some of the triples of one head, in order; more of the same head may follow."""

    head: str
    tails: tuple[StatedTail, ...]


class EntityNames(NamedTuple):
    """The name properties of an entity, as they are in the graph."""

    id: str
    name: str
    aliases: tuple[str, ...]
    name_tags: str | None


class StatedTriples(NamedTuple):
    """Some of the triples of one head, each with the loads that state it, last; more of the same head may follow."""

    head: str
    tails: tuple[tuple[str, str, bool, str | None, str | None, list[int]], ...]


def stream_stated_triples(numbers: Mapping[str, int]) -> Request[StatedTriples]:
    """All triples with the loads that state them, by head; `numbers` are those of the catalogue's relations."""

    def decode(rows: Sequence[Row]) -> StatedTriples:
        head, triples = rows[0]
        return StatedTriples(head, tuple(map(_triple_key, triples)))

    return Request(template("stream_stated_triples"), {"numbers": dict(numbers), "chunk_size": CHUNK_SIZE}, decode)


def stream_triples(ranks: Mapping[str, int], load: int | None = None) -> Request[HeadTriples]:
    """All triples, or those that the load of this number states; `ranks` are `relation_ranks` of the relations."""

    def decode(rows: Sequence[Row]) -> HeadTriples:
        head, triples = rows[0]
        return HeadTriples(head, tuple(map(_tail, triples)))

    params = {"load": load, "ranks": dict(ranks), "chunk_size": CHUNK_SIZE}
    return Request(template("stream_triples"), params, decode)


def stream_names() -> Request[EntityNames]:
    """The entities that have a name, with all names."""

    def decode(rows: Sequence[Row]) -> EntityNames:
        id_, name, aliases, tags = rows[0]
        return EntityNames(id_, name, tuple(aliases or ()), tags)

    return Request(template("stream_names"), {}, decode)


def relation_ranks(names: Iterable[str]) -> dict[str, int]:
    """Return the place of each relation in the order of code points; none where Neo4j's own order is the same.

    Neo4j compares relationship types by UTF-16 units, in which characters beyond U+FFFF come before U+E000.
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
