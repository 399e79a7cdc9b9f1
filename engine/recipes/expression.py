"""Parse a recipe's expression of parts, check it, and build its retriever.

    star + path-pooling | (similarity + merge)

``+`` binds more tightly than ``|``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from ..combinators import ReorganisedRetriever, TracedReorganiser, TracedRetriever, Union
from ..errors import UsageError
from ..evidence.evidence import Kind
from ..resources import GraphResources
from ..stages import Linker, Reorganiser, Retriever
from .part import JoinExpression, Leaf, Node, Part, ReorganiserPart, RetrieverPart, WrapperPart

_TOKEN = re.compile(r"\s*([A-Za-z][\w-]*|[+|()])")


MAX_LINE_CHARS = 2_000
MAX_TOKENS = 100
"""Names, signs and brackets of a line: the parser and the tree are as deep as these are many."""


def parse_line(line: str) -> Node:
    """Parse an expression to a tree. Raises `UsageError` with the position of an error."""
    if len(line) > MAX_LINE_CHARS:
        raise UsageError(f"expected a line of parts of at most {MAX_LINE_CHARS:,} characters, found {len(line):,}")
    tokens = list(_tokens(line))
    if len(tokens) > MAX_TOKENS:
        raise UsageError(
            f"expected a line of parts of at most {MAX_TOKENS} names, signs and brackets, found {len(tokens):,}"
        )
    node, rest = _union(line, tokens)
    if rest:
        raise _wrong(line, "a + or a |", rest[0])
    return node


def check_fits(node: Node, parts: Mapping[str, Part]) -> list[str]:
    """Return the resolved list of stages with bridges. Raises `UsageError` if parts do not fit together."""
    resolved, _ = _check_node(node, parts, node)
    return resolved


def join_parts(node: Node, parts: Mapping[str, Part], graph: GraphResources, linker: Linker) -> Retriever:
    """Return the retriever of a line that was checked."""
    if isinstance(node, Leaf):
        return TracedRetriever(node.name, cast(RetrieverPart, parts[node.name]).retriever(graph))
    if node.sign == "|":
        sides = (join_parts(node.left, parts, graph, linker), join_parts(node.right, parts, graph, linker))
        return Union(*sides, names=(str(node.left), str(node.right)))
    retriever = join_parts(node.left, parts, graph, linker)
    reorganisers: list[Reorganiser] = []
    for name in _chain(node.right):
        part = parts[name]
        if isinstance(part, WrapperPart):
            retriever = TracedRetriever(name, part.wrap(ReorganisedRetriever(retriever, *reorganisers), linker, graph))
            reorganisers = []
        else:
            reorganisers.append(TracedReorganiser(name, cast(ReorganiserPart, part).reorganiser(graph)))
    return ReorganisedRetriever(retriever, *reorganisers) if reorganisers else retriever


def _check_node(node: Node, parts: Mapping[str, Part], whole: Node) -> tuple[list[str], Kind]:
    if isinstance(node, Leaf):
        part = parts[node.name]
        if not isinstance(part, RetrieverPart):
            raise UsageError(
                f"stages {str(whole)!r}: {node.name} is a {part.role}, which needs evidence: put it after a retriever, "
                f"such as similarity + {node.name}"
            )
        return [node.name], part.gives
    resolved, kind = _check_node(node.left, parts, whole)
    if node.sign == "|":
        right, other = _check_node(node.right, parts, whole)
        bridge = [_bridge(other, kind)] if other != kind else []
        return [*resolved, "|", *right, *bridge], kind
    for name in _chain(node.right):
        part = parts[name]
        if isinstance(part, WrapperPart):
            resolved.append(name)
            continue
        if not isinstance(part, ReorganiserPart):
            raise UsageError(
                f"stages {str(whole)!r}: {name} is a {part.role}, but after + only a reorganiser may stand; "
                f"join two retrievers by |, such as {node.left} | {name}"
            )
        if part.answers and name != _last(whole, parts):
            raise UsageError(f"stages {str(whole)!r}: {name} changes the answer: put it last")
        takes = part.takes or kind
        resolved += [name] if takes == kind else [_bridge(kind, takes), name]
        kind = part.gives or kind
    return resolved, kind


def _last(node: Node, parts: Mapping[str, Part]) -> str:
    """Return the name of the reorganiser that all evidence passes last, empty where a line ends in a union."""
    if isinstance(node, Leaf):
        return "" if isinstance(parts[node.name], WrapperPart) else node.name
    return (_last(node.right, parts) or _last(node.left, parts)) if node.sign == "+" else ""


def _chain(node: Node) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield node.name
        return
    if node.sign == "|":
        raise UsageError(f"stages: ({node}) cannot stand after +: a union joins retrievers, such as a + b | a + c")
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
        node = JoinExpression("|", node, right)
    return node, rest


def _then(line: str, tokens: list[str]) -> tuple[Node, list[str]]:
    node, rest = _single(line, tokens)
    while rest and rest[0] == "+":
        right, rest = _single(line, rest[1:])
        node = JoinExpression("+", node, right)
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
