"""Define parts: their options, checks, and the line that joins them to a pipeline.

Your own part derives from `RetrieverPart`, `ReorganiserPart`, `LinkerPart` or `AnswererPart`, is a frozen dataclass
with fields made by `option`, and is named in a recipe's table ``[parts]`` as ``module:Class``.

Parts join in a line such as ``star + path-pooling | (similarity + merge)``; ``+`` binds more tightly than ``|``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, ClassVar, Literal, cast

from ...models.message_text import one_line
from ..errors import UsageError
from ..evidence.evidence import Kind
from ..pipeline import ReorganisedRetriever, TracedReorganiser, TracedRetriever, UnionRetriever
from ..resources import GraphResources
from ..settings import check_options
from ..stages import Answerer, Linker, Reorganiser, Retriever


@dataclass(frozen=True)
class NamedPart:
    """A part, by its name."""

    name: str

    def __str__(self) -> str:
        return self.name


Sign = Literal["+", "|"]


@dataclass(frozen=True)
class JoinExpression:
    """Two expressions joined: ``left + right`` or ``left | right``."""

    sign: Sign
    left: Node
    right: Node

    def __str__(self) -> str:
        sides = []
        for side, is_right in ((self.left, False), (self.right, True)):
            looser = isinstance(side, JoinExpression) and (
                (is_right and side.sign == self.sign) or (self.sign == "+" and side.sign == "|")
            )
            sides.append(f"({side})" if looser else str(side))
        return f" {self.sign} ".join(sides)


Node = NamedPart | JoinExpression


def names_in(node: Node) -> list[str]:
    """Return the names of an expression from left to right, each once."""
    found = [node.name] if isinstance(node, NamedPart) else [*names_in(node.left), *names_in(node.right)]
    return list(dict.fromkeys(found))


def rename_parts(node: Node, names: Mapping[str, str]) -> Node:
    if isinstance(node, NamedPart):
        return NamedPart(names[node.name])
    return JoinExpression(node.sign, rename_parts(node.left, names), rename_parts(node.right, names))


Role = Literal["retriever", "reorganiser", "wrapper", "linker", "answerer"]


def option(default: Any, help_: str, *, source: str = "our own") -> Any:
    """Return a field of a part: its default, help, and source of the default; a number's range is in its type."""
    return field(default=default, metadata={"help": help_, "source": source})


@dataclass(frozen=True)
class Part:
    """Options of a stage. Raises `UsageError` for a number out of its range."""

    name: ClassVar[str]
    role: ClassVar[Role]
    kinds: ClassVar[tuple[Any, ...]] = ()
    """The kinds of models that the option `checkpoint` accepts."""

    def __post_init__(self) -> None:
        check_options(self, self.name)

    def check(self) -> None:
        """Raise `UsageError` if a required option is missing."""
        if self.kinds and not getattr(self, "checkpoint", ""):
            names = " or ".join(each if isinstance(each, str) else each.name for each in self.kinds)
            key = f"{self.name if self.role in ('retriever', 'reorganiser', 'wrapper') else self.role}.checkpoint"
            raise UsageError(
                f"part {self.name}: expected the folder of a checkpoint of kind {names}, found none: give --checkpoint "
                f"FOLDER or --set {key}=FOLDER, or train one with `lodestar train {names.partition(' ')[0]}`"
            )

    def __add__(self, other: Part | Expression) -> Expression:
        return expression_of(self) + other

    def __or__(self, other: Part | Expression) -> Expression:
        return expression_of(self) | other


@dataclass(frozen=True)
class Expression:
    """An expression with the parts of its names: in Python ``Star(…) + PathPooling(…)``."""

    node: Node
    parts: Mapping[str, Part] = field(default_factory=dict)

    def __add__(self, other: Part | Expression) -> Expression:
        return self._join("+", other)

    def __or__(self, other: Part | Expression) -> Expression:
        return self._join("|", other)

    def _join(self, sign: Literal["+", "|"], other: Part | Expression) -> Expression:
        right = expression_of(other)
        names = {name: name for name in right.parts}
        for name, part in right.parts.items():
            number = 2
            while names[name] in self.parts and self.parts[names[name]] != part:
                names[name] = f"{name}-{number}"
                number += 1
        parts = {**self.parts, **{names[name]: part for name, part in right.parts.items()}}
        return Expression(JoinExpression(sign, self.node, rename_parts(right.node, names)), parts)


def expression_of(given: Part | Expression) -> Expression:
    return given if isinstance(given, Expression) else Expression(NamedPart(given.name), {given.name: given})


@dataclass(frozen=True)
class RetrieverPart(Part):
    """A part that finds evidence: it comes first, or beside another with ``|``."""

    role: ClassVar[Role] = "retriever"
    gives: ClassVar[Kind]

    @abstractmethod
    def retriever(self, graph: GraphResources, /) -> Retriever:
        """Return the retriever; raise `CheckpointError` for a checkpoint that is damaged or of another graph."""


@dataclass(frozen=True)
class ReorganiserPart(Part):
    """A part that improves evidence: it comes after ``+``."""

    role: ClassVar[Role] = "reorganiser"
    takes: ClassVar[Kind | None]
    """None for either kind; the output is then of the same kind, and `gives` is None too."""
    gives: ClassVar[Kind | None]
    answers: ClassVar[bool] = False
    """Whether it also changes the answer (`answerer`), so that it must come last."""

    @abstractmethod
    def reorganiser(self, graph: GraphResources, /) -> Reorganiser:
        """Return the reorganiser; raise `CheckpointError` for a checkpoint that is damaged or of another graph."""

    def answerer(self, _graph: GraphResources, answerer: Answerer, /) -> Answerer:
        """Return the answerer to use instead of the recipe's, for a part that `answers`."""
        return answerer


@dataclass(frozen=True)
class WrapperPart(Part):
    """A part that asks what stands before it in other ways: it stands after ``+`` and may link and retrieve again."""

    role: ClassVar[Role] = "wrapper"

    @abstractmethod
    def wrap(self, retriever: Retriever, linker: Linker, graph: GraphResources, /) -> Retriever:
        """Return the retriever that stands around another one."""


@dataclass(frozen=True)
class LinkerPart(Part):
    """A part that links questions to entities."""

    role: ClassVar[Role] = "linker"

    @abstractmethod
    def linker(self, graph: GraphResources, /) -> Linker:
        """Return the linker."""


@dataclass(frozen=True)
class AnswererPart(Part):
    """A part that answers from evidence."""

    role: ClassVar[Role] = "answerer"

    @abstractmethod
    def answerer(self, graph: GraphResources, /) -> Answerer:
        """Return the answerer."""


_TOKEN = re.compile(r"\s*([A-Za-z][\w-]*|[+|()])")


MAX_LINE_CHARS = 2_000
MAX_TOKENS = 100
"""Names, signs and brackets of a line: the parser and the tree are as deep as these are many."""


def parse_expression(line: str) -> Node:
    if len(line) > MAX_LINE_CHARS:
        raise UsageError(f"expected a line of parts of at most {MAX_LINE_CHARS:,} characters, found {len(line):,}")
    tokens = list(_tokens(line))
    if len(tokens) > MAX_TOKENS:
        raise UsageError(
            f"expected a line of parts of at most {MAX_TOKENS} names, signs and brackets, found {len(tokens):,}"
        )
    node, rest = _join(line, tokens)
    if rest:
        raise _wrong(line, "a + or a |", rest[0])
    return node


def resolve_stages(node: Node, parts: Mapping[str, Part]) -> list[str]:
    """Return the resolved list of stages with bridges. Raises `UsageError` if parts do not fit together."""
    resolved, _ = _check_node(node, parts, node)
    return resolved


def build_retriever(node: Node, parts: Mapping[str, Part], graph: GraphResources, linker: Linker) -> Retriever:
    if isinstance(node, NamedPart):
        return TracedRetriever(node.name, cast(RetrieverPart, parts[node.name]).retriever(graph))
    if node.sign == "|":
        sides = (build_retriever(node.left, parts, graph, linker), build_retriever(node.right, parts, graph, linker))
        return UnionRetriever(*sides, names=(str(node.left), str(node.right)))
    retriever = build_retriever(node.left, parts, graph, linker)
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
    if isinstance(node, NamedPart):
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
    if isinstance(node, NamedPart):
        return "" if isinstance(parts[node.name], WrapperPart) else node.name
    return (_last(node.right, parts) or _last(node.left, parts)) if node.sign == "+" else ""


def _chain(node: Node) -> Iterator[str]:
    if isinstance(node, NamedPart):
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


def _join(line: str, tokens: list[str], signs: tuple[Sign, ...] = ("|", "+")) -> tuple[Node, list[str]]:
    """Read parts joined by the signs; the later ones bind tighter."""
    if not signs:
        return _single(line, tokens)
    sign, *tighter = signs
    node, rest = _join(line, tokens, tuple(tighter))
    while rest and rest[0] == sign:
        right, rest = _join(line, rest[1:], tuple(tighter))
        node = JoinExpression(sign, node, right)
    return node, rest


def _single(line: str, tokens: list[str]) -> tuple[Node, list[str]]:
    if not tokens or tokens[0] in "+|)":
        raise _wrong(line, "the name of a part", tokens[0] if tokens else "")
    if tokens[0] != "(":
        return NamedPart(tokens[0]), tokens[1:]
    node, rest = _join(line, tokens[1:])
    if not rest or rest[0] != ")":
        raise _wrong(line, "a )", rest[0] if rest else "")
    return node, rest[1:]


def _wrong(line: str, expected: str, found: str) -> UsageError:
    return UsageError(f"stages {line!r}: expected {expected}, found {repr(found) if found else 'the end'}")


PARTS = {
    "similarity": "lodestar.engine.recipes.retrieving:Similarity",
    "star": "lodestar.engine.recipes.retrieving:Star",
    "merge": "lodestar.engine.recipes.retrieving:Merge",
    "reg-triple": "lodestar.engine.recipes.retrieving:RegTriple",
    "reg-entity": "lodestar.engine.recipes.retrieving:RegEntity",
    "reg-path": "lodestar.engine.recipes.retrieving:RegPath",
    "complete-chains": "lodestar.engine.recipes.reorganising:CompleteChains",
    "gril": "lodestar.engine.recipes.retrieving:Gril",
    "reorganise": "lodestar.engine.recipes.reorganising:Reorganise",
    "adaptive-k": "lodestar.engine.recipes.retrieving:AdaptiveK",
    "model-answers": "lodestar.engine.recipes.reorganising:ModelAnswers",
    "path-pooling": "lodestar.engine.recipes.reorganising:PathPooling",
    "fi": "lodestar.engine.recipes.reorganising:FI",
    "forms": "lodestar.engine.recipes.reorganising:Forms",
}
"""Retrievers and reorganisers, which stand in a recipe's expression."""

LINKERS = {"full-text": "lodestar.engine.recipes.retrieving:FullText"}

ANSWERERS = {
    "extractive": "lodestar.engine.recipes.reorganising:Extractive",
    "reader": "lodestar.engine.recipes.reorganising:ReaderPart",
    "llm": "lodestar.engine.recipes.reorganising:LanguageModel",
    "closed-book": "lodestar.engine.recipes.reorganising:ClosedBook",
    "gril": "lodestar.engine.recipes.retrieving:GrilReader",
}

ENTRY_POINTS = "lodestar.parts"
"""Entry point group for the parts of other installed packages, which a recipe may name like Lodestar's."""

_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def list_installed_parts() -> dict[str, str]:
    """Return the places of the parts of installed packages, by name."""
    return {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS) if entry.name not in PARTS}


def foreign_code(own: Mapping[str, str]) -> dict[str, str]:
    """Return a recipe's own parts whose code is neither Lodestar's nor that of an installed part."""
    trusted = {*PARTS, *PARTS.values(), *list_installed_parts().values()}
    return {name: place for name, place in own.items() if place not in trusted and _PLACE.fullmatch(place)}


def part_class(name: str, own: Mapping[str, str] | None = None, known: Mapping[str, str] = PARTS) -> type[Part]:
    """Return the class of a part.

    own: the recipe's own parts, ``module:Class`` by name, or the name of another part to use it twice with different
    options. Raises `UsageError` for an unknown name, or a class that is no part.
    """
    own = own or {}
    place = own.get(name) or known.get(name) or (list_installed_parts().get(name) if known is PARTS else None)
    if place is None:
        raise UsageError(f"there is no part {name!r}: expected one of {', '.join(sorted({*known, *own}))}")
    if place in known:
        place = known[place]
    if not _PLACE.fullmatch(place):
        raise UsageError(f"part {name}: expected module:Class or the name of a part, found {place!r}")
    module, _, class_name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), class_name)
    except Exception as error:
        raise UsageError(f"part {name}: {place} cannot be imported: {one_line(error)}") from error
    if not (isinstance(found, type) and issubclass(found, Part)):
        raise UsageError(f"part {name}: expected a class derived from a Part, found {place}")
    if inspect.isabstract(found) or found in (Part, *Part.__subclasses__()):
        raise UsageError(f"part {name}: expected a concrete class, found the abstract {place}")
    return found
