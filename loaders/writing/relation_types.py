"""Which relations are relationship types of their own, and the catalogue's rows for the relations of a stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from ...engine.database.catalogue import RelationInfo
from ..ids_and_names import domain_of, label_of
from ..source import RelationFacts

MAX_TYPES = 65_000
"""Neo4j Community keeps at most 65,536 relationship types; the rest is for pictures and what others put there."""

RELATED = "RELATED"
"""The type of relationships whose relation has none of its own; the relation stands in their property ``relation``."""


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation of a stage as it comes into the catalogue; `staged` is its number in the stage."""

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
        """Return the row as write_relations.cypher takes it."""
        return asdict(self)


def num_related(rows: Iterable[RelationRow]) -> int:
    """Return how many of the relations have no type of their own."""
    return sum(row.stored_as is not None for row in rows)


def relation_rows(
    staged: Sequence[tuple[int, str, int]],
    known: Sequence[RelationInfo],
    facts: Mapping[str, RelationFacts],
    max_types: int | None = None,
) -> list[RelationRow]:
    """Return the rows for staged relations (number, name, number of triples), given those the graph has.

    New relations are numbered on in the order of their names. Where there would be too many types, the new relations
    with the fewest triples have none of their own; `max_types` None is `MAX_TYPES`.
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
    """Whether a relationship type can be called so: the importer takes blanks for none."""
    return name != RELATED and bool(name.strip())
