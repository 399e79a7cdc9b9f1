"""A line of parts as a tree: joined by ``+`` (then) and ``|`` (union), each part by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Leaf:
    """A part by its name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Joined:
    """Two parts of a line: ``left + right`` or ``left | right``."""

    sign: Literal["+", "|"]
    left: Node
    right: Node

    def __str__(self) -> str:
        sides = []
        for side, is_right in ((self.left, False), (self.right, True)):
            looser = isinstance(side, Joined) and (
                (is_right and side.sign == self.sign) or (self.sign == "+" and side.sign == "|")
            )
            sides.append(f"({side})" if looser else str(side))
        return f" {self.sign} ".join(sides)


Node = Leaf | Joined


def names_in(node: Node) -> list[str]:
    """Return the names of a line from left to right, each once."""
    found = [node.name] if isinstance(node, Leaf) else [*names_in(node.left), *names_in(node.right)]
    return list(dict.fromkeys(found))


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """Return the line with other names."""
    if isinstance(node, Leaf):
        return Leaf(names[node.name])
    return Joined(node.sign, renamed(node.left, names), renamed(node.right, names))
