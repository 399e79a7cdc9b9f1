"""Restrict answers by filters: of a kind, with a relation, or with a value of a relation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..neo4j.templates import Request, Row, template
from ..relations.describing import find_relation
from ..values import Question

if TYPE_CHECKING:
    from ..context import Context
    from ..resources import GraphResources


def find_fitting(ctx: Context, asked: Sequence[tuple[Question, Sequence[str]]]) -> list[frozenset[str]]:
    """Return, of each question's entities by id, those that fit its filter; one round trip.

    The key `kind` has the name of what an answer must be an instance of, `relation` one that it must have. Any other
    key is a relation, and its value the name or the literal that it must lead to. Raises `UsageError` for a relation
    that the graph does not have.
    """
    wanted = [
        {"ids": list(ids), "conditions": [_make_condition(*each, ctx.graph) for each in question.filter]}
        for question, ids in asked
    ]

    def decode(rows: Sequence[Row]) -> list[frozenset[str]]:
        found = {question: frozenset(ids) for question, ids in rows}
        return [found.get(place, frozenset()) for place in range(len(asked))]

    return ctx.db.run(Request(template("find_fitting"), {"asked": wanted}, decode))


def _make_condition(key: str, value: str, graph: GraphResources) -> dict[str, Any]:
    catalogue, text = graph.catalogue, value.replace("_", " ").lower()
    if key == "relation":
        return {"number": find_relation(catalogue, value)[0].number, "relations": [], "value": None}
    if key == "kind":
        names = [each.name for each in catalogue.relations if graph.words[each.name].is_type]
    else:
        names = [find_relation(catalogue, key)[0].name]
    return {"number": None, "relations": names, "value": text}
