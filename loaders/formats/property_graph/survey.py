"""Find out what a property graph holds: labels, relationship types, their properties; what may be names is sampled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ....engine.errors import (
    AuthenticationError,
    DatabaseError,
    DatabaseUnavailableError,
    InputError,
    UsageError,
)
from ....engine.neo4j.gateway import Gateway
from ....engine.neo4j.property_graph import (
    EVERYWHERE,
    ElementFilter,
    ElementGroup,
    PropertySample,
    check_node_condition,
    check_relationship_condition,
    element_prefix,
    sample_ends,
    sample_properties,
    survey_nodes,
    survey_relationships,
)
from ....models.message_text import quote_line

SAMPLE_SIZE = 1_000
"""Nodes of a label whose properties are looked at."""
ENDS_SAMPLE_SIZE = 200
"""Relationships of a type whose ends are looked at."""
MAX_SAMPLED = 200
"""Labels and types that are sampled, those with most elements first; of the others only counts are known."""
NO_LABEL = ""
"""Stands for the label of nodes that have none."""


@dataclass(slots=True)
class LabelFacts:
    """The nodes with a label: how many, how many have each property, and what a sample of them holds by property."""

    num: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    samples: dict[str, PropertySample] = field(default_factory=dict)
    """Of the commonest type of each property's values."""


@dataclass(slots=True)
class TypeFacts:
    """The relationships of a type: how many, how many have any property or each, and what labels their ends have."""

    num: int = 0
    num_with_keys: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    starts: str = ""
    """The commonest label of the start nodes, as far as they were looked at."""
    ends: str = ""


@dataclass(slots=True)
class ElementIdRange:
    """The element ids of nodes or relationships: what they begin with, and the highest number."""

    prefix: str = ""
    last: int = -1


@dataclass(frozen=True, slots=True)
class Survey:
    """What a property graph holds."""

    labels: Mapping[str, LabelFacts]
    relationships: Mapping[str, TypeFacts]
    num_nodes: int
    num_relationships: int
    nodes: ElementIdRange
    """Where the ids of nodes end; an id is never beyond it unless it is younger than this survey."""
    edges: ElementIdRange
    keys: Mapping[str, int]
    """How many nodes and relationships have each property."""


def check_where(gateway: Gateway, where: ElementFilter, place: str = "") -> None:
    """Have the database plan conditions without reading anything; raise an error for what is none.

    place: the file that says them (`InputError`); options without (`UsageError`).
    """
    checks = (
        ("nodes", "--where", where.nodes, check_node_condition(where)),
        ("relationships", "--where-relationship", where.relationships, check_relationship_condition(where)),
    )
    for name, option, condition, request in checks:
        if condition:
            try:
                gateway.plan(request)
            except (DatabaseUnavailableError, AuthenticationError):
                raise
            except DatabaseError as error:
                said = _PLACE.split(str(error))[0].removeprefix("Neo4j: ").strip().rstrip(".")
                message = f"expected a condition in Cypher, found {quote_line(condition)}: {said}"
                raise (InputError if place else UsageError)(
                    f"{f'{place}: where.{name}' if place else option}: {message}"
                ) from error


_PLACE = re.compile(r"\s*\(line \d+, column|\n")
"""What follows in Neo4j's messages is about the text of the query."""


def survey(gateway: Gateway, where: ElementFilter = EVERYWHERE) -> Survey:
    """Survey a database in one pass over its nodes and one over its relationships, and sample what may be a name.

    Counts are of what meets the conditions; labels and types are all. Raises `InputError` for a database without such
    nodes, or with element ids of an unknown form.
    """
    labels: dict[str, LabelFacts] = {}
    nodes, edges = ElementIdRange(), ElementIdRange()
    keys: Counter[str] = Counter()
    num_nodes = num_relationships = 0
    for group in gateway.stream(survey_nodes(where)):
        num_nodes += group.num
        _extend(nodes, group)
        keys.update(dict.fromkeys(group.keys, group.num))
        for label in group.labels or (NO_LABEL,):
            found = labels.setdefault(label, LabelFacts())
            found.num += group.num
            found.keys.update(dict.fromkeys(group.keys, group.num))
    if labels and not num_nodes:
        raise InputError(f"expected nodes that meet the condition {quote_line(where.nodes)}, found none")
    if not labels:
        connection = gateway.connection
        raise InputError(
            f"{connection.where}: expected nodes in database {connection.database!r}, found none that "
            f"{connection.user!r} may read: check --from-database, and the user's rights"
        )
    types: dict[str, TypeFacts] = {}
    for group in gateway.stream(survey_relationships(where)):
        num_relationships += group.num
        _extend(edges, group)
        keys.update(dict.fromkeys(group.keys, group.num))
        of_type = types.setdefault(group.labels[0], TypeFacts())
        of_type.num += group.num
        of_type.num_with_keys += group.num if group.keys else 0
        of_type.keys.update(dict.fromkeys(group.keys, group.num))
    for label in _largest({label: facts.num for label, facts in labels.items()}):
        samples = gateway.fetch(sample_properties(label, SAMPLE_SIZE))
        labels[label].samples = {sample.key: sample for sample in sorted(samples, key=lambda sample: sample.num)}
    for type_ in _largest({type_: facts.num for type_, facts in types.items()}):
        ends = gateway.fetch(sample_ends(type_, ENDS_SAMPLE_SIZE))
        types[type_].starts = _commonest((label, each.num) for each in ends for label in each.starts)
        types[type_].ends = _commonest((label, each.num) for each in ends for label in each.ends)
    return Survey(labels, types, num_nodes, num_relationships, nodes, edges, keys)


def _extend(extent: ElementIdRange, group: ElementGroup) -> None:
    prefix = element_prefix(group.id)
    if prefix is None or extent.prefix not in ("", prefix):
        raise InputError(
            f"expected element ids such as 4:DATABASE:17, found {group.id!r}: Lodestar cannot read this database"
        )
    extent.prefix = prefix
    extent.last = max(extent.last, group.last)


def _largest(counts: Mapping[str, int]) -> list[str]:
    """Return the names of the largest, as far as a query can name them."""
    ranked = sorted(counts, key=lambda name: (-counts[name], name))[:MAX_SAMPLED]
    return [name for name in ranked if name and "\\u" not in name and "\x00" not in name]


def _commonest(counts: Iterable[tuple[str, int]]) -> str:
    found: Counter[str] = Counter()
    for name, num in counts:
        found[name] += num
    return min(found, key=lambda name: (-found[name], name), default="")
