"""Find out what a property graph holds: labels, relationship types, properties, and which of these may name nodes.

An element id is ``KIND:DATABASE:NUMBER``. Numbers ascend as elements are created, and those of deleted elements are
used again, so that a range of numbers is a page: it is read by seeks, whatever was read before.

What a property is called comes first as a name, then how many nodes have it and how much its values differ. A property
called `name` or `title` needs no distinct values, as people and films share theirs; one that only ends so does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....engine.errors import (
    AuthenticationError,
    DatabaseError,
    DatabaseUnavailableError,
    InputError,
    UsageError,
)
from ....engine.neo4j.gateway import Gateway
from ....engine.neo4j.templates import Request, Row, template
from ....models.message_text import quote_line

_ELEMENT_ID = re.compile(r"(\d+:[^:]+:)\d+")


class ElementGroup(NamedTuple):
    """How many elements to read have these labels, or this one type, and these properties; it may be none.

    `last` is the highest number in their element ids, `id` one of these.
    """

    labels: tuple[str, ...]
    keys: tuple[str, ...]
    num: int
    last: int
    id: str


class PropertySample(NamedTuple):
    """What a property holds in a sample: its values' type in Cypher, how many there are, and how many of them differ.

    `num_items` is the length of the longest list, `num_chars` the mean length of texts.
    """

    key: str
    type: str
    num: int
    num_distinct: int
    num_items: int
    num_chars: float


class EndsSample(NamedTuple):
    """The labels of both ends of some relationships."""

    starts: tuple[str, ...]
    ends: tuple[str, ...]
    num: int


class Node(NamedTuple):
    """A node with its properties, as the driver returns them; `is_within` says whether it is among those to read."""

    id: str
    labels: list[str]
    is_within: bool
    properties: list[tuple[str, Any]]


class Relationship(NamedTuple):
    """A relationship with its properties; `is_within` says whether it and both ends are among what is to read."""

    id: str
    type: str
    start: str
    end: str
    is_within: bool
    properties: list[tuple[str, Any]]


class ElementFilter(NamedTuple):
    """What is read: nodes and relationships that meet a condition in Cypher, on `n`, and on `r` from `s` to `t`.

    Empty is all. Of a relationship both ends must be read as well.
    """

    nodes: str = ""
    relationships: str = ""

    def over(self, other: ElementFilter) -> ElementFilter:
        """Return these conditions, and those of another where there are none here."""
        return ElementFilter(self.nodes or other.nodes, self.relationships or other.relationships)

    def fill(self, *names: str) -> dict[str, str]:
        """Return what a query has in the place of these names: a condition that all meet for an empty one."""
        return {name: getattr(self, name.lower()) or "true" for name in names}


EVERYWHERE = ElementFilter()


class Page(NamedTuple):
    """A range of element ids: those that begin with `prefix`, from one number to another, without some properties."""

    prefix: str
    first: int
    last: int
    without: Sequence[str]


def element_prefix(element_id: str) -> str | None:
    """Return what precedes the number in an element id, None if it has another form."""
    found = _ELEMENT_ID.fullmatch(element_id)
    return found[1] if found else None


def check_node_condition(where: ElementFilter) -> Request[None]:
    """Return a request that is never run: the database plans it if the condition on nodes is one."""
    return Request(template("check_nodes"), {}, lambda _rows: None, where.fill("NODES"))


def check_relationship_condition(where: ElementFilter) -> Request[None]:
    """Like `check_node_condition` for the condition on relationships."""
    return Request(template("check_relationships"), {}, lambda _rows: None, where.fill("RELATIONSHIPS"))


def survey_nodes(where: ElementFilter = EVERYWHERE) -> Request[ElementGroup]:
    """Stream the combinations of labels and properties of all nodes, each with the count of those to read."""

    def decode(rows: Sequence[Row]) -> ElementGroup:
        labels, keys, num, last, id_ = rows[0]
        return ElementGroup(tuple(labels), tuple(keys), num, last, id_)

    return Request(template("survey_nodes"), {}, decode, where.fill("NODES"))


def survey_relationships(where: ElementFilter = EVERYWHERE) -> Request[ElementGroup]:
    """Stream the combinations of type and properties of all relationships, each with the count of those to read."""

    def decode(rows: Sequence[Row]) -> ElementGroup:
        type_, keys, num, last, id_ = rows[0]
        return ElementGroup((type_,), tuple(keys), num, last, id_)

    return Request(template("survey_relationships"), {}, decode, where.fill("NODES", "RELATIONSHIPS"))


def sample_properties(label: str, limit: int) -> Request[list[PropertySample]]:
    """Read what the properties of at most `limit` nodes with a label hold."""

    def decode(rows: Sequence[Row]) -> list[PropertySample]:
        return [
            PropertySample(key, type_, num, num_distinct, num_items or 0, num_chars or 0.0)
            for key, type_, num, num_distinct, num_items, num_chars in rows
        ]

    return Request(template("sample_properties"), {"limit": limit}, decode, {"LABEL": label})


def sample_ends(type_: str, limit: int) -> Request[list[EndsSample]]:
    """Read which labels are at the ends of at most `limit` relationships of a type."""

    def decode(rows: Sequence[Row]) -> list[EndsSample]:
        return [EndsSample(tuple(starts), tuple(ends), num) for starts, ends, num in rows]

    return Request(template("sample_ends"), {"limit": limit}, decode, {"RELATION": type_})


def read_nodes(page: Page, where: ElementFilter = EVERYWHERE) -> Request[Node]:
    return Request(template("read_nodes"), page._asdict(), lambda rows: Node(*rows[0]), where.fill("NODES"))


def read_relationships(
    page: Page, labels: Sequence[str] | None, where: ElementFilter = EVERYWHERE
) -> Request[Relationship]:
    """Stream the relationships of a page; only nodes with one of `labels` are read, all if it is None."""
    params: Mapping[str, Any] = page._asdict() | {"labels": labels}
    names = where.fill("NODES", "RELATIONSHIPS")
    return Request(template("read_relationships"), params, lambda rows: Relationship(*rows[0]), names)


def read_database_id() -> Request[str]:
    """Read the id of the database, which is the same under every address."""
    return Request(template("read_database_id"), {}, lambda rows: str(rows[0][0]))


SAMPLE_SIZE = 1_000
"""Nodes of a label whose properties are looked at."""
ENDS_SAMPLE_SIZE = 200
"""Relationships of a type whose ends are looked at."""
MAX_SAMPLED = 200
"""Labels and types that are sampled, those with most elements first; of the others only counts are known."""
MAX_NUMBERS = 64
"""A longer list of numbers is a vector, such as an embedding, of which no number says anything."""
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
        samples = gateway.run(sample_properties(label, SAMPLE_SIZE))
        labels[label].samples = {sample.key: sample for sample in sorted(samples, key=lambda sample: sample.num)}
    for type_ in _largest({type_: facts.num for type_, facts in types.items()}):
        ends = gateway.run(sample_ends(type_, ENDS_SAMPLE_SIZE))
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


NAMES = ("name", "title", "label", "preflabel", "fullname", "displayname", "caption", "headline", "heading")
"""What properties that name a thing are called, the clearest first; case, `_`, `-` and blanks do not count."""
CODES = ("username", "login", "code", "symbol", "isocode", "key", "slug")
"""What names a thing where nothing better does, if its values differ."""
TOGETHER = (("firstname", "lastname"), ("givenname", "familyname"), ("forename", "surname"))
"""What names people in two properties."""
ALIASES = ("alias", "aliases", "altlabel", "altlabels", "alternatename", "alternatenames", "nickname", "nicknames",
           "synonym", "synonyms", "alsoknownas", "aka")  # fmt: skip

LEAST_COVERAGE = 0.5
"""The least share of a label's nodes that have a name."""
LEAST_DISTINCT = 0.5
"""The least share of values that differ where only the end of a property's name speaks for it."""
MOST_CHARS = 120
"""The longest mean of texts that are names."""


def fold(key: str) -> str:
    """Return a property's name in lower case without separators."""
    return re.sub(r"[\s_\-.:]+", "", key).lower()


def guess_names(label: str, facts: LabelFacts) -> list[tuple[str, ...]]:
    """Return the properties that could name the nodes with a label, the likeliest first, some in several parts."""
    folded: dict[str, str] = {}
    for key in sorted(facts.keys, reverse=True):
        folded[fold(key)] = key  # of several that fold to one, the first
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for key in folded.values():
        if (rank := _rank(label, key, facts)) is not None:
            found[key,] = rank
    for parts in TOGETHER:
        keys = tuple(folded[part] for part in parts if part in folded)
        if len(keys) == len(parts) and all(_is_covered(key, facts) for key in keys):
            found[keys] = (0, 1)  # what only people have: their title is no name
    return sorted(found, key=lambda keys: (found[keys], keys))


def guess_aliases(facts: LabelFacts) -> tuple[str, ...]:
    """Return the properties that hold further names."""
    return tuple(key for key in sorted(facts.keys) if fold(key) in ALIASES)


def is_key(label: str, key: str, facts: LabelFacts) -> bool:
    """Return whether a property is a key of the database and says nothing else: `id`, or LABEL`Id`, with numbers that
    all differ."""
    sample = facts.samples.get(key)
    is_number = sample is not None and sample.type.startswith("INTEGER") and sample.num_distinct == sample.num
    return is_number and fold(key) in ("id", f"{fold(label)}id")


def _rank(label: str, key: str, facts: LabelFacts) -> tuple[int, int] | None:
    """Return a rank, lower is better; None for what is no name."""
    plain, sample = fold(key), facts.samples.get(key)
    if not _is_covered(key, facts) or not _may_name(sample) or plain in ALIASES:
        return None
    if plain in NAMES:
        return 0, 2 * NAMES.index(plain)
    distinct = sample.num_distinct / sample.num if sample else 0.0
    if plain in (f"{fold(label)}name", f"{fold(label)}title"):
        return 0, 2 * len(NAMES)
    in_parts = any(plain in parts for parts in TOGETHER)
    if distinct >= LEAST_DISTINCT and plain.endswith(("name", "title")) and not in_parts:
        return (1, 0) if plain not in CODES else (2, CODES.index(plain))
    if distinct >= LEAST_DISTINCT and plain in CODES:
        return 2, CODES.index(plain)
    return None


def _is_covered(key: str, facts: LabelFacts) -> bool:
    return facts.keys[key] >= LEAST_COVERAGE * facts.num


def _may_name(sample: PropertySample | None) -> bool:
    """Return whether values are such as names are: texts, numbers or lists of texts; True where none were seen."""
    if sample is None:
        return True
    named = sample.type.startswith(("STRING", "INTEGER", "LIST<STRING"))
    return named and sample.num_chars <= MOST_CHARS
