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


class Group(NamedTuple):
    """How many elements have these labels, or this one type, and these properties.

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
    """A node with its properties, as the driver returns them."""

    id: str
    labels: list[str]
    properties: list[tuple[str, Any]]


class Relationship(NamedTuple):
    """A relationship with its properties; `is_within` says whether both ends are among the nodes that are read."""

    id: str
    type: str
    start: str
    end: str
    is_within: bool
    properties: list[tuple[str, Any]]


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


def survey_nodes() -> Request[Group]:
    """Stream the combinations of labels and properties of all nodes, each with its count."""

    def decode(rows: Sequence[Row]) -> Group:
        labels, keys, num, last, id_ = rows[0]
        return Group(tuple(labels), tuple(keys), num, last, id_)

    return Request(template("survey_nodes"), {}, decode)


def survey_relationships() -> Request[Group]:
    """Stream the combinations of type and properties of all relationships, each with its count."""

    def decode(rows: Sequence[Row]) -> Group:
        type_, keys, num, last, id_ = rows[0]
        return Group((type_,), tuple(keys), num, last, id_)

    return Request(template("survey_relationships"), {}, decode)


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


def read_nodes(page: Page) -> Request[Node]:
    """Stream the nodes of a page."""
    return Request(template("read_nodes"), page._asdict(), lambda rows: Node(*rows[0]))


def read_relationships(page: Page, labels: Sequence[str] | None) -> Request[Relationship]:
    """Stream the relationships of a page; only nodes with one of `labels` are read, all if it is None."""
    params: Mapping[str, Any] = page._asdict() | {"labels": labels}
    return Request(template("read_relationships"), params, lambda rows: Relationship(*rows[0]))


def read_database_id() -> Request[str]:
    """Read the id of the database, which is the same under every address."""
    return Request(template("read_database_id"), {}, lambda rows: str(rows[0][0]))
