"""Choose relationship types and keep the counts of relations.

Neo4j's counts per relationship type are a relation's counts, unless some relationships of that type are not triples:
those between nodes that are not Lodestar's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from ..errors import DatabaseError
from ..neo4j.catalogue import RelationInfo, read_relation_counts
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request, template
from .names import domain_of, label_of

MAX_TYPES = 65_000
"""Neo4j Community allows 65,536 relationship types; the rest is for pictures and foreign data."""

RELATED = "RELATED"
"""The type of relationships whose relation has no type of its own; their property ``relation`` names it."""


@dataclass(frozen=True, slots=True)
class RelationFacts:
    """What a source knows about a relation beyond its name."""

    range: str | None = None
    inverse: str | None = None
    label: str | None = None
    """A readable label, if the name is not readable."""


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation of a stage for the catalogue; `staged` is its number in the stage."""

    staged: int
    name: str
    number: int
    label: str
    domain: str | None
    range: str | None
    inverse: str | None
    stored_as: str | None

    @property
    def type(self) -> str:
        """The relationship type."""
        return self.stored_as or self.name

    def as_parameters(self) -> Mapping[str, object]:
        """Return the row for write_relations.cypher."""
        return asdict(self)


def count_untyped_relations(rows: Iterable[RelationRow]) -> int:
    """Return how many relations have no type of their own."""
    return sum(row.stored_as is not None for row in rows)


def relation_rows(
    staged: Sequence[tuple[int, str, int]],
    known: Sequence[RelationInfo],
    facts: Mapping[str, RelationFacts],
    max_types: int | None = None,
) -> list[RelationRow]:
    """Return the rows for staged relations (number, name, number of triples), given the graph's.

    New relations continue the numbering in the order of their names. If there would be too many types, the new
    relations with the fewest triples get none of their own; `max_types` None is `MAX_TYPES`.
    """
    old = {relation.name: relation for relation in known}
    next_number = max((relation.number for relation in known), default=0) + 1
    new = sorted(name for _, name, _ in staged if name not in old)
    numbers = {name: number for number, name in enumerate(new, next_number)}
    has_related = any(relation.stored_as for relation in known)
    num_types = sum(relation.stored_as is None for relation in known) + has_related
    counts = {name: count for _, name, count in staged}
    ranked = sorted(filter(_can_be_type, new), key=lambda name: (-counts[name], name))
    room = max((MAX_TYPES if max_types is None else max_types) - num_types, 0)
    if len(ranked) > room and not has_related:
        room = max(room - 1, 0)  # for RELATED itself
    typed = set(ranked[:room])
    unknown = RelationFacts()
    rows = []
    for number, name, _ in staged:
        fact = facts.get(name, unknown)
        stored_as = old[name].stored_as if name in old else None if name in typed else RELATED
        rows.append(
            RelationRow(
                staged=number,
                name=name,
                number=old[name].number if name in old else numbers[name],
                label=fact.label or label_of(name),
                domain=domain_of(name),
                range=fact.range,
                inverse=fact.inverse,
                stored_as=stored_as,
            )
        )
    return rows


def _can_be_type(name: str) -> bool:
    """Whether this can name a relationship type: the importer drops blank ones."""
    return name != RELATED and bool(name.strip())


ASKED_ONE_BY_ONE = 1
"""Up to this many relations are counted with one query each. The database plans each anew, which takes longer than
running it, so that beyond this number one fixed query counts all.
"""


class _StoredCounts(NamedTuple):
    """Counts of one type: all relationships, those that leave an entity, those that enter an entity or a literal."""

    all: int
    leaving: int
    entering: int

    @property
    def are_exact(self) -> bool:
        """Whether all of them are triples."""
        return self.all == self.leaving == self.entering


def count_in_graph(gateway: Gateway, relations: Sequence[RelationRow | RelationInfo]) -> dict[str, int]:
    """Return the number of triples of each of these relations."""
    typed = [relation.name for relation in relations if relation.stored_as is None]
    related = [relation.name for relation in relations if relation.stored_as]
    if len(typed) > ASKED_ONE_BY_ONE:
        try:
            kept = gateway.fetch(_count_relations())
        except DatabaseError:  # some servers reserve these counts for administrators
            return dict.fromkeys((relation.name for relation in relations), 0) | gateway.execute(read_relation_counts())
    else:
        kept = {name: gateway.fetch(_count_relation(name)) for name in typed}
    none = _StoredCounts(0, 0, 0)
    found = {name: kept.get(name, none) for name in typed}
    counts = {
        name: count.all if count.are_exact else gateway.execute(_count_triples_of(name))
        for name, count in found.items()
    }
    if related:
        counts |= dict.fromkeys(related, 0) | gateway.execute(Request(template("count_related"), {}, dict))
    return counts


def refresh_counts(gateway: Gateway, relations: Sequence[RelationRow | RelationInfo]) -> None:
    """Bring the catalogue's counts of these relations in line with the graph."""
    counts = count_in_graph(gateway, relations)
    gateway.fetch(Request(template("set_relation_counts"), {"counts": counts}, lambda _: None))


def _count_relation(name: str) -> Request[_StoredCounts]:
    return Request(template("count_relation"), {}, lambda rows: _StoredCounts(*rows[0]), {"RELATION": name})


def _count_relations() -> Request[dict[str, _StoredCounts]]:
    return Request(template("count_relations"), {}, lambda rows: {name: _StoredCounts(*kept) for name, *kept in rows})


def _count_triples_of(name: str) -> Request[int]:
    return Request(template("count_triples_of"), {}, lambda rows: int(rows[0][0]), {"RELATION": name})
