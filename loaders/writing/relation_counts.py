"""How many triples relations have in the graph itself, by the cheaper of two ways."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.database.catalogue import read_relation_counts
from ...engine.database.gateway import Gateway
from ...engine.database.requests import Request
from ...engine.database.templates import template
from .relation_types import RelationRow

COUNTED_ONE_BY_ONE = 100
"""Up to so many relations Neo4j's own counts are asked for, a query each; beyond, the graph is read once."""


def counts_in_graph(gateway: Gateway, rows: Sequence[RelationRow]) -> dict[str, int]:
    """Return the counts of at least these relations; those of which the graph has no triple may be absent."""
    if len(rows) > COUNTED_ONE_BY_ONE:
        return gateway.execute(read_relation_counts())
    counts = {row.name: gateway.fetch(_count_relation(row.name)) for row in rows if row.stored_as is None}
    if any(row.stored_as for row in rows):
        counts |= gateway.execute(Request(template("count_related"), {}, dict))
    return counts


def _count_relation(name: str) -> Request[int]:
    return Request(template("count_relation"), {}, lambda rows: int(rows[0][0]), {"RELATION": name})
