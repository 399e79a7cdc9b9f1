"""How many triples relations have in the graph itself, from the counts that Neo4j keeps where these tell.

They do unless relationships of the same type are no triples: between nodes that are not Lodestar's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...engine.database.catalogue import RelationInfo, read_relation_counts
from ...engine.database.gateway import Gateway
from ...engine.database.requests import Request
from ...engine.database.templates import template
from ...engine.errors import DatabaseError
from .relation_types import RelationRow

ASKED_ONE_BY_ONE = 1
"""Up to so many relations are asked for with a query each, which the database plans anew for each of them: that takes
longer than to run it. Beyond, the counts of all come at once, by a query that is always the same.
"""


class _KeptCounts(NamedTuple):
    """Of one type: all relationships, those that leave an entity, those that enter an entity or a literal."""

    all: int
    leaving: int
    entering: int

    @property
    def tell(self) -> bool:
        """Whether all are triples."""
        return self.all == self.leaving == self.entering


def counts_in_graph(gateway: Gateway, relations: Sequence[RelationRow | RelationInfo]) -> dict[str, int]:
    """Return the number of triples of each of these relations."""
    typed = [relation.name for relation in relations if relation.stored_as is None]
    related = [relation.name for relation in relations if relation.stored_as]
    if len(typed) > ASKED_ONE_BY_ONE:
        try:
            kept = gateway.fetch(_count_relations())
        except DatabaseError:  # some servers let administrators only ask for these
            return dict.fromkeys((relation.name for relation in relations), 0) | gateway.execute(read_relation_counts())
    else:
        kept = {name: gateway.fetch(_count_relation(name)) for name in typed}
    none = _KeptCounts(0, 0, 0)
    found = {name: kept.get(name, none) for name in typed}
    counts = {
        name: count.all if count.tell else gateway.execute(_count_triples_of(name)) for name, count in found.items()
    }
    if related:
        counts |= dict.fromkeys(related, 0) | gateway.execute(Request(template("count_related"), {}, dict))
    return counts


def refresh_counts(gateway: Gateway, relations: Sequence[RelationRow | RelationInfo]) -> None:
    """Bring the catalogue's counts of these relations in line with the graph."""
    counts = counts_in_graph(gateway, relations)
    gateway.fetch(Request(template("set_relation_counts"), {"counts": counts}, lambda _: None))


def _count_relation(name: str) -> Request[_KeptCounts]:
    return Request(template("count_relation"), {}, lambda rows: _KeptCounts(*rows[0]), {"RELATION": name})


def _count_relations() -> Request[dict[str, _KeptCounts]]:
    return Request(template("count_relations"), {}, lambda rows: {name: _KeptCounts(*kept) for name, *kept in rows})


def _count_triples_of(name: str) -> Request[int]:
    return Request(template("count_triples_of"), {}, lambda rows: int(rows[0][0]), {"RELATION": name})
