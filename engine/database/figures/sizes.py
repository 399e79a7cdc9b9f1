"""Typed requests that measure a graph: its degrees, its hubs, and what is connected to what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import GraphError
from ...values import Entity
from ..requests import Request, Row
from ..templates import template


class DegreeCount(NamedTuple):
    """How many entities have a degree, and how many of them a name."""

    degree: int
    num_entities: int
    num_named: int


class Hub(NamedTuple):
    """An entity and how many triples it is in; a self-loop counts twice."""

    entity: Entity
    degree: int


class Neighbours(NamedTuple):
    """An entity and those its triples lead to, by numbers that are good for one stream."""

    entity: int
    neighbours: Sequence[int]


def read_degree_counts() -> Request[list[DegreeCount]]:
    """The degrees that occur, ascending (reads every entity)."""
    return Request(template("read_degree_counts"), {}, lambda rows: [DegreeCount(*row) for row in rows])


def read_hubs(limit: int) -> Request[tuple[Hub, ...]]:
    """The entities of the highest degrees, highest first, those of the same degree by id (reads every entity)."""
    return Request(
        template("read_hubs"),
        {"limit": limit},
        lambda rows: tuple(Hub(Entity(id_, name), degree) for id_, name, degree in rows),
    )


def stream_neighbours() -> Request[Neighbours]:
    """Every entity with its neighbours (reads every relationship); for `Gateway.stream`."""

    def decode(rows: Sequence[Row]) -> Neighbours:
        entity, neighbours = rows[0]
        if entity is None:
            raise GraphError("this Neo4j numbers its nodes in a way that Lodestar does not know: use --no-components")
        return Neighbours(entity, neighbours)

    return Request(template("stream_neighbours"), {}, decode)
