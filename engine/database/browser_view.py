"""Typed requests for the pictures in Neo4j Browser, one function per template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .requests import Request
from .templates import template


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A node to draw: `label` decides its style, `name` is what it says.

    `id` is that of its entity, `literal` that of its literal, if it has one. One label a node: with a second one,
    common to all, Browser would colour all alike.
    """

    label: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    literal: str | None = None

    @property
    def all_properties(self) -> dict[str, Any]:
        """What is written of it, absent values left out."""
        own = {"name": self.name, "id": self.id, "literal": self.literal}
        return {**self.properties, **{key: value for key, value in own.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class PictureArrow:
    """An arrow to draw between two nodes, given by their indexes in the picture."""

    start: int
    end: int
    type: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn for one question. `question_id` is made of hexadecimal digits."""

    question_id: str
    nodes: tuple[PictureNode, ...]
    arrows: tuple[PictureArrow, ...]


class ClearReport(NamedTuple):
    """How much was removed."""

    num_questions: int
    num_nodes: int
    num_relationships: int


def write_picture(picture: Picture) -> Request[int]:
    """Write the picture in the place of an earlier one of the same question; the number of nodes written."""
    params = {
        "question": picture.question_id,
        "nodes": [{"label": n.label, "properties": n.all_properties} for n in picture.nodes],
        "arrows": [
            {"start": a.start, "end": a.end, "type": a.type, "properties": dict(a.properties)} for a in picture.arrows
        ],
    }
    return Request(template("write_browser_picture"), params, lambda rows: int(rows[0][0]))


def clear_pictures(limit: int) -> Request[ClearReport]:
    """Delete at most `limit` nodes of pictures, with their relationships."""
    return Request(template("clear_browser_pictures"), {"limit": limit}, lambda rows: ClearReport(*rows[0]))


def read_browser_command() -> Request[str]:
    """The commands that Browser runs after each connection to this server, "" where there are none."""
    return Request(template("read_browser_command"), {}, lambda rows: str(rows[0][0] or "") if rows else "")


def picture_query(question_id: str) -> str:
    """Return the query that shows a picture, for Browser's editor: on one line, so that Enter runs it."""
    int(question_id, 16)  # the id becomes part of the query: digits only
    text = template("show_browser_picture").render({})
    return " ".join(text.replace("$question", f"'{question_id}'").split())
