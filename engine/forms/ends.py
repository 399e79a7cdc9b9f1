"""Combine the ends of several relation paths in one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..neo4j import Request, Row, template
from ..values import Entity, RelationStep

MAX_STEPS = 4
MAX_ENDS = 10_000
"""The most triples of one relation at an entity that are examined."""


@dataclass(frozen=True, slots=True)
class EndSet:
    """The ends of a relation path from a topic. only: the ends that count, None for all. negated: exclude them."""

    topic: str
    steps: tuple[RelationStep, ...]
    negated: bool = False
    only: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ValueBounds:
    """Bounds of numbers (least, most) and dates (first, last); see ``combine_ends.cypher``."""

    least: float | None = None
    most: float | None = None
    first: float | None = None
    last: float | None = None
    with_least: bool = True
    with_most: bool = True


@dataclass(frozen=True, slots=True)
class CombinedEnd:
    """An entity or a literal in the result, with the value that orders or filters it."""

    entity: Entity
    key: float | None


@dataclass(frozen=True, slots=True)
class CombinationResult:
    """The number of results, and the first of them."""

    total: int
    ends: tuple[CombinedEnd, ...]


@dataclass(frozen=True, slots=True)
class Combination:
    """End sets and how to combine them."""

    sets: tuple[EndSet, ...]
    any_of: bool = False
    excluded: tuple[str, ...] = ()
    value_steps: tuple[RelationStep, ...] = ()
    by_count: bool = False
    order: str = ""
    bound: ValueBounds = field(default_factory=ValueBounds)


def combine_ends(combination: Combination, stored_as: Mapping[str, str], limit: int) -> Request[CombinationResult]:
    """Combine the ends of the sets, and return the first `limit` of them."""

    def steps(path: Sequence[RelationStep]) -> list[dict[str, Any]]:
        return [
            {"relation": s.relation, "type": stored_as.get(s.relation, s.relation), "inverse": s.inverse} for s in path
        ]

    def decode(rows: Sequence[Row]) -> CombinationResult:
        total, ends = rows[0]
        return CombinationResult(
            total, tuple(CombinedEnd(Entity(id_, name, is_literal), key) for id_, name, is_literal, key in ends)
        )

    sets = [
        {
            "topic": each.topic,
            "steps": steps(each.steps),
            "negated": each.negated,
            "only": None if each.only is None else list(each.only),
        }
        for each in combination.sets
    ]
    bound = combination.bound
    params: dict[str, Any] = {
        "sets": sets,
        "any_of": combination.any_of,
        "excluded": list(combination.excluded),
        "value_steps": steps(combination.value_steps),
        "by_count": combination.by_count,
        "order": combination.order,
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
