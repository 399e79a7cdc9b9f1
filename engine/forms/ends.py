"""The typed request that combines what several relation paths lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..neo4j.requests import Request, Row
from ..neo4j.templates import template
from ..values import Entity, Step

MAX_STEPS = 4
MAX_ENDS = 10_000
"""Triples of one relation at an entity that are looked at."""


@dataclass(frozen=True, slots=True)
class EndSet:
    """What a relation path from a topic leads to; only: the ends that count, None for all. negated: is left out."""

    topic: str
    steps: tuple[Step, ...]
    negated: bool = False
    only: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """The least and the most that numbers, and dates, may be; see ``combine_ends.cypher``."""

    least: float | None = None
    most: float | None = None
    first: float | None = None
    last: float | None = None
    with_least: bool = True
    with_most: bool = True


@dataclass(frozen=True, slots=True)
class CombinedEnd:
    """An entity or a literal that was found, with the value it was ordered or filtered by."""

    entity: Entity
    key: float | None


@dataclass(frozen=True, slots=True)
class Combined:
    """How many were found, and the first of them."""

    total: int
    ends: tuple[CombinedEnd, ...]


@dataclass(frozen=True, slots=True)
class Combination:
    """What is to be combined, and how."""

    sets: tuple[EndSet, ...]
    any_of: bool = False
    excluded: tuple[str, ...] = ()
    value_steps: tuple[Step, ...] = ()
    by_count: bool = False
    order: str = ""
    bound: Bound = field(default_factory=Bound)


def combine_ends(asked: Combination, stored_as: Mapping[str, str], limit: int) -> Request[Combined]:
    """The ends of the sets, combined, and the first `limit` of them."""

    def steps(path: Sequence[Step]) -> list[dict[str, Any]]:
        return [
            {"relation": s.relation, "type": stored_as.get(s.relation, s.relation), "inverse": s.inverse} for s in path
        ]

    def decode(rows: Sequence[Row]) -> Combined:
        total, ends = rows[0]
        return Combined(
            total, tuple(CombinedEnd(Entity(id_, name, is_literal), key) for id_, name, is_literal, key in ends)
        )

    sets = [
        {
            "topic": each.topic,
            "steps": steps(each.steps),
            "negated": each.negated,
            "only": None if each.only is None else list(each.only),
        }
        for each in asked.sets
    ]
    bound = asked.bound
    params: dict[str, Any] = {
        "sets": sets,
        "any_of": asked.any_of,
        "excluded": list(asked.excluded),
        "value_steps": steps(asked.value_steps),
        "by_count": asked.by_count,
        "order": asked.order,
        "least": bound.least,
        "most": bound.most,
        "first": bound.first,
        "last": bound.last,
        "with_least": bound.with_least,
        "with_most": bound.with_most,
        "max_ends": MAX_ENDS,
        "limit": limit,
    }
    return Request(template("combine_ends"), params, decode)
