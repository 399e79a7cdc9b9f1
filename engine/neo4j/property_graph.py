"""Build the requests that read a property graph of somebody else's: what is in it, samples, all of it by pages.

An element id is ``KIND:DATABASE:NUMBER``. Numbers ascend as elements are created, and those of deleted elements are
used again, so that a range of numbers is a page: it is read by seeks, whatever was read before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .templates import Request, Row, template

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
    """Stream the nodes of a page."""
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
