"""The line of a recipe, from text to a tree, checked, and from a tree to a retriever.

    star + path-pooling | (similarity + merge)

``+`` binds more tightly than ``|``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from ..combinators import Then, Traced, TracedReorganiser, Union
from ..errors import UsageError
from ..evidence.evidence import Kind
from ..resources import GraphResources
from ..stages import Reorganiser, Retriever
from .line import Joined, Leaf, Node
from .part import Part, ReorganiserPart, RetrieverPart

_TOKEN = re.compile(r"\s*([A-Za-z][\w-]*|[+|()])")


MAX_LINE_CHARS = 2_000


def parsed(line: str) -> Node:
    """Return the tree of a line; raise `UsageError` that says where it is wrong."""
    if len(line) > MAX_LINE_CHARS:
        raise UsageError(f"expected a line of parts of at most {MAX_LINE_CHARS:,} characters, found {len(line):,}")
    tokens = list(_tokens(line))
    node, rest = _union(line, tokens)
    if rest:
        raise _wrong(line, "a + or a |", rest[0])
    return node


def check_fits(node: Node, parts: Mapping[str, Part]) -> list[str]:
    """Return the resolved list of stages, bridges included; raise `UsageError` where parts do not fit together."""
    resolved, _ = _checked(node, parts, node)
    return resolved


def joined(node: Node, parts: Mapping[str, Part], graph: GraphResources) -> Retriever:
    """Return the retriever of a line that was checked."""
    if isinstance(node, Leaf):
        return Traced(node.name, cast(RetrieverPart, parts[node.name]).retriever(graph))
    if node.sign == "|":
        sides = (joined(node.left, parts, graph), joined(node.right, parts, graph))
        return Union(*sides, names=(str(node.left), str(node.right)))
    reorganisers: list[Reorganiser] = [
        TracedReorganiser(name, cast(ReorganiserPart, parts[name]).reorganiser(graph)) for name in _chain(node.right)
    ]
    return Then(joined(node.left, parts, graph), *reorganisers)


def _checked(node: Node, parts: Mapping[str, Part], whole: Node) -> tuple[list[str], Kind]:
    if isinstance(node, Leaf):
        part = parts[node.name]
        if not isinstance(part, RetrieverPart):
            raise UsageError(
                f"stages {str(whole)!r}: {node.name} is a {part.role}, which needs evidence: put it after a retriever, "
                f"as similarity + {node.name}"
            )
        return [node.name], part.gives
    resolved, kind = _checked(node.left, parts, whole)
    if node.sign == "|":
        right, other = _checked(node.right, parts, whole)
        bridge = [_bridge(other, kind)] if other != kind else []
        return [*resolved, "|", *right, *bridge], kind
    for name in _chain(node.right):
        part = parts[name]
        if not isinstance(part, ReorganiserPart):
            raise UsageError(
                f"stages {str(whole)!r}: {name} is a {part.role}, and after + comes what takes evidence; "
                f"two retrievers are joined by |, as {node.left} | {name}"
            )
        if part.answers and name != _last(whole):
            raise UsageError(f"stages {str(whole)!r}: {name} has a say in the answer: put it last, after all others")
        takes = part.takes or kind
        resolved += [name] if takes == kind else [_bridge(kind, takes), name]
        kind = part.gives or kind
    return resolved, kind


def _last(node: Node) -> str:
    """Return the name that all evidence passes last, empty where a line ends in a union."""
    if isinstance(node, Leaf):
        return node.name
    return _last(node.right) if node.sign == "+" else ""


def _chain(node: Node) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield node.name
        return
    if node.sign == "|":
        raise UsageError(f"stages: ({node}) cannot stand after +: a union is of retrievers, as a + b | a + c")
    yield from _chain(node.left)
    yield from _chain(node.right)


def _bridge(source: Kind, target: Kind) -> str:
    return f"{source} → {target}"


def _tokens(line: str) -> Iterator[str]:
    at = 0
    while line[at:].strip():
        found = _TOKEN.match(line, at)
        if not found:
            raise UsageError(f"stages {line!r}: expected names of parts, + and |, found {line[at:].strip()[0]!r}")
        yield found[1]
        at = found.end()


def _union(line: str, tokens: list[str]) -> tuple[Node, list[str]]:
    node, rest = _then(line, tokens)
    while rest and rest[0] == "|":
        right, rest = _then(line, rest[1:])
        node = Joined("|", node, right)
    return node, rest


def _then(line: str, tokens: list[str]) -> tuple[Node, list[str]]:
    node, rest = _single(line, tokens)
    while rest and rest[0] == "+":
        right, rest = _single(line, rest[1:])
        node = Joined("+", node, right)
    return node, rest


def _single(line: str, tokens: list[str]) -> tuple[Node, list[str]]:
    if not tokens or tokens[0] in "+|)":
        raise _wrong(line, "the name of a part", tokens[0] if tokens else "")
    if tokens[0] != "(":
        return Leaf(tokens[0]), tokens[1:]
    node, rest = _union(line, tokens[1:])
    if not rest or rest[0] != ")":
        raise _wrong(line, "a )", rest[0] if rest else "")
    return node, rest[1:]


def _wrong(line: str, expected: str, found: str) -> UsageError:
    return UsageError(f"stages {line!r}: expected {expected}, found {repr(found) if found else 'the end'}")
