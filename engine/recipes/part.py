"""Define parts: their options, checks, and how they join to a pipeline.

Your own part derives from `RetrieverPart`, `ReorganiserPart`, `LinkerPart` or `AnswererPart`, is a frozen dataclass
with fields made by `option`, and is named in a recipe's table ``[parts]`` as ``module:Class``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ..errors import UsageError
from ..evidence.evidence import Kind
from ..resolving import check_options
from ..resources import GraphResources
from ..stages import Answerer, Linker, Reorganiser, Retriever


@dataclass(frozen=True)
class Leaf:
    """A part, by its name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class JoinExpression:
    """Two expressions joined: ``left + right`` or ``left | right``."""

    sign: Literal["+", "|"]
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


Node = Leaf | JoinExpression


def names_in(node: Node) -> list[str]:
    """Return the names of an expression from left to right, each once."""
    found = [node.name] if isinstance(node, Leaf) else [*names_in(node.left), *names_in(node.right)]
    return list(dict.fromkeys(found))


def rename_parts(node: Node, names: Mapping[str, str]) -> Node:
    """Return the expression with other names."""
    if isinstance(node, Leaf):
        return Leaf(names[node.name])
    return JoinExpression(node.sign, rename_parts(node.left, names), rename_parts(node.right, names))


Role = Literal["retriever", "reorganiser", "wrapper", "linker", "answerer"]


def describe_field(help_: str, *, source: str = "our own") -> Mapping[str, Any]:
    """Return the metadata of a part's field: help, and source of the default."""
    return {"help": help_, "source": source}


def option(default: Any, help_: str, *, source: str = "our own") -> Any:
    """Return a field of a part with its default and metadata; a number's range is in its type, see `models.ranges`."""
    return field(default=default, metadata=describe_field(help_, source=source))


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
    """Return a single part as an expression."""
    return given if isinstance(given, Expression) else Expression(Leaf(given.name), {given.name: given})


@dataclass(frozen=True)
class RetrieverPart(Part):
    """A part that finds evidence: it comes first, or beside another with ``|``."""

    role: ClassVar[Role] = "retriever"
    gives: ClassVar[Kind]

    @abstractmethod
    def retriever(self, graph: GraphResources, /) -> Retriever:
        """Return the retriever."""


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
        """Return the reorganiser."""

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
