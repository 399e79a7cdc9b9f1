"""Define parts of a recipe, and the line that joins them, such as ``star + path-pooling | (similarity + merge)``.

A part is one class: the stage, its options (the fields of a frozen dataclass), and its entry in the registry::

    @part("shuffle")
    @dataclass(frozen=True)
    class Shuffle(Reorganiser):
        seed: int = option(0, "seed of the order")

        def __call__(self, ctx: Context, evidence: Sequence[Evidence]) -> list[Evidence]: ...

Lodestar's are in the folders of their stages. Your own is named as ``module:Class`` in a recipe's table ``[parts]``, or
by an entry point of the group ``lodestar.parts``. In a line ``+`` binds more tightly than ``|``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

from ..models import one_line
from .data_model import LinkedQuestion, Question, Topic
from .errors import UsageError
from .evidence import Answer, Evidence, Kind

if TYPE_CHECKING:
    from .context import Context
    from .resources import GraphResources

Role = Literal["retriever", "reorganiser", "linker", "answerer"]
P = TypeVar("P", bound="type[Part]")


def part(name: str) -> Callable[[P], P]:
    """Give a part its name in recipes."""

    def named(kind: P) -> P:
        kind.name = name
        return kind

    return named


def option(default: Any, help_: str, *, source: str = "our own") -> Any:
    """Return a field of a part: its default, help, and source of the default; a number's range is in its type."""
    return field(default=default, metadata={"help": help_, "source": source})


class Composable:
    """What ``+`` and ``|`` join to an expression."""

    def __add__(self, other: Composable) -> Expression:
        return join_expressions("+", wrap_part_as_expression(self), wrap_part_as_expression(other))

    def __or__(self, other: Composable) -> Expression:
        return join_expressions("|", wrap_part_as_expression(self), wrap_part_as_expression(other))


@dataclass(frozen=True)
class Part(Composable, ABC):
    """A stage with its options. Raises `UsageError` for a number out of its range."""

    name: ClassVar[str]
    role: ClassVar[Role]
    kinds: ClassVar[tuple[Any, ...]] = ()
    """The kinds of models that the option `checkpoint` accepts."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not each.default and not type(value) is type(each.default) is bool:
                _check_option(type(self), each.name, value)

    def check(self) -> None:
        """Raise `UsageError` if a required option is missing."""
        if self.kinds and not getattr(self, "checkpoint", ""):
            names = " or ".join(each if isinstance(each, str) else each.name for each in self.kinds)
            key = f"{self.role if self.role in ('linker', 'answerer') else self.name}.checkpoint"
            raise UsageError(
                f"part {self.name}: expected the folder of a checkpoint of kind {names}, found none: give --checkpoint "
                f"FOLDER or --set {key}=FOLDER, or train one with `lodestar train {names.partition(' ')[0]}`"
            )

    def open(self, graph: GraphResources, /) -> Any:
        """Return what the stage needs of a graph, such as a model; `opened` keeps it for the next call.

        Raises `ModelError` for a checkpoint that is damaged or of another graph.
        """

    def opened(self, graph: GraphResources) -> Any:
        """Return what `open` returns, opened once for each edition of a graph."""
        return graph.get_or_make(self, lambda: self.open(graph))


def _check_option(kind: type[Part], name: str, value: Any) -> None:
    hint = get_type_hints(kind, include_extras=True)[name]
    plain, *ranges = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if type(value) is plain and all(limits.least <= value <= limits.most for limits in ranges):
        return
    from pydantic import ConfigDict, TypeAdapter, ValidationError  # slow to import: it decides the rest

    try:
        TypeAdapter(hint, config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python(value)
    except ValidationError as error:
        said, is_long = error.errors()[0]["msg"], isinstance(value, int) and value.bit_length() > 64
        shown = "a number with too many digits" if is_long else one_line(repr(value), 80)
        raise UsageError(f"{kind.name}.{name}: {said[0].lower()}{said[1:]}, found {shown}") from None


@dataclass(frozen=True)
class TrainedPart(Part):
    """Options of a part with a trained model."""

    checkpoint: str = option("", "folder of the trained model (docs/training.md)", source="lodestar train")
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")


@dataclass(frozen=True)
class Retriever(Part):
    """Finds evidence: it comes first in a line, or beside another with ``|``."""

    role: ClassVar[Role] = "retriever"
    gives: ClassVar[Kind]

    @abstractmethod
    def __call__(self, ctx: Context, questions: Sequence[LinkedQuestion], top_k: int, /) -> list[Evidence[Any]]:
        """Return evidence for each question, best first.

        top_k: how many items are wanted in the end. More may be returned, for the stages that follow.
        """


@dataclass(frozen=True)
class Reorganiser(Part):
    """Turns evidence into other evidence (rescored, merged, expanded, pooled or filtered): it comes after ``+``."""

    role: ClassVar[Role] = "reorganiser"
    takes: ClassVar[Kind | None] = None
    """The kind of the items that it reads; None for either."""
    gives: ClassVar[Kind | None] = None
    """The kind of the items that it returns; None for the kind that it reads."""

    @abstractmethod
    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Any]], /) -> list[Evidence[Any]]:
        """Return the evidence of each question, in order."""

    answers: ClassVar[bool] = False
    """Whether it also changes the answer, so that only what `follows_answers` may come after it."""
    follows_answers: ClassVar[bool] = False

    def answer(self, ctx: Context, evidence: Sequence[Evidence[Any]], answerer: Any) -> list[Answer]:
        """Return an answer to each question; `answerer` is what the recipe has, called as an `Answerer`."""
        found: list[Answer] = answerer(ctx, evidence)
        return found


@dataclass(frozen=True)
class Linker(Part):
    """Finds the entities that questions mention."""

    role: ClassVar[Role] = "linker"

    @abstractmethod
    def __call__(self, ctx: Context, questions: Sequence[Question], /) -> list[tuple[Topic, ...]]:
        """Return candidates for each question, best first; those without relations are looked up afterwards."""


@dataclass(frozen=True)
class Answerer(Part):
    """Answers questions from evidence; answers name the items that support them."""

    role: ClassVar[Role] = "answerer"

    def num_read(self, _graph: GraphResources) -> int:
        """Return the most items of a question that are read, where a number was trained; else 0."""
        return 0

    @abstractmethod
    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Any]], /) -> list[Answer]:
        """Return an answer to each question, in order; one without entities where there is none.

        If it fails for a question, that answer has a `failure`; the others are kept.
        """


@dataclass(frozen=True)
class NamedPart(Composable):
    """A part in a line, by its name there; `part` is any stage where it is given in Python."""

    name: str
    part: Any

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class JoinedExpression(Composable):
    """Two expressions joined: ``left + right``, where `right` is a single part, or ``left | right``."""

    sign: Literal["+", "|"]
    left: Expression
    right: Expression

    def __str__(self) -> str:
        left = (
            f"({self.left})"
            if self.sign == "+" and isinstance(self.left, JoinedExpression) and self.left.sign == "|"
            else self.left
        )
        right = (
            f"({self.right})"
            if isinstance(self.right, JoinedExpression) and self.right.sign == self.sign
            else self.right
        )
        return f"{left} {self.sign} {right}"


Expression = NamedPart | JoinedExpression


def wrap_part_as_expression(given: Composable) -> Expression:
    if isinstance(given, NamedPart | JoinedExpression):
        return given
    assert isinstance(given, Part)
    return NamedPart(given.name, given)


def map_expression_parts_by_name(stages: Expression) -> dict[str, Any]:
    """Return the parts of an expression by name, from left to right."""
    return (
        {stages.name: stages.part}
        if isinstance(stages, NamedPart)
        else map_expression_parts_by_name(stages.left) | map_expression_parts_by_name(stages.right)
    )


def join_expressions(sign: Literal["+", "|"], left: Expression, right: Expression) -> Expression:
    """Return ``left + right`` or ``left | right``; a part of the right with another one's name gets a number."""
    known, names = map_expression_parts_by_name(left), {}
    for name, own in map_expression_parts_by_name(right).items():
        names[name], number = name, 2
        while names[name] in known and known[names[name]] != own:
            names[name], number = f"{name}-{number}", number + 1
    right = _rename(right, names)
    if sign == "|" or isinstance(right, NamedPart):
        return JoinedExpression(sign, left, right)
    if right.sign == "|":
        raise UsageError(f"stages: ({right}) cannot stand after +: a union joins retrievers, such as a + b | a + c")
    return JoinedExpression("+", join_expressions("+", left, right.left), right.right)  # a + (b + c) is a + b + c


def _rename(stages: Expression, names: Mapping[str, str]) -> Expression:
    if isinstance(stages, NamedPart):
        return NamedPart(names[stages.name], stages.part)
    return JoinedExpression(stages.sign, _rename(stages.left, names), _rename(stages.right, names))


MAX_LINE_CHARS = 2_000
MAX_NAMES = 50
"""Of a line: the tree is as deep as these are many."""
_NAME = re.compile(r"[A-Za-z][\w-]*")


def parse_expression(line: str, make: Callable[[str], Any]) -> Expression:
    """Return the expression of a line; `make` returns the part of a name. Raises `UsageError` for any other text."""
    names = _NAME.findall(line[:MAX_LINE_CHARS])
    if len(line) > MAX_LINE_CHARS or len(names) > MAX_NAMES:
        raise UsageError(
            f"expected a line of parts of at most {MAX_LINE_CHARS:,} characters and {MAX_NAMES} names, found "
            f"{len(line):,} characters"
        )
    if wrong := re.search(r"[^\s+|()]", _NAME.sub("", line)):
        raise UsageError(f"stages {line!r}: expected names of parts, + and |, found {wrong[0]!r}")
    places = iter(range(len(names)))
    try:
        tree = ast.parse(f"({_NAME.sub(lambda _: f'_{next(places)}', line)})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UsageError(f"stages {line!r}: expected parts joined by + and |, such as 'similarity + merge'") from None

    def read(node: ast.expr) -> Expression:
        if isinstance(node, ast.Name):
            name = names[int(node.id[1:])]
            return NamedPart(name, make(name))
        if isinstance(node, ast.BinOp):
            return join_expressions("+" if isinstance(node.op, ast.Add) else "|", read(node.left), read(node.right))
        raise UsageError(f"stages {line!r}: expected a part between two signs")

    return read(tree)


def resolve_stages(stages: Expression, *, is_last: bool = True) -> tuple[list[str], Kind]:
    """Return the names of the stages in order with the bridges between kinds, and the kind of the result.

    Raises `UsageError` if parts do not fit together.
    """
    if isinstance(stages, NamedPart):
        if isinstance(stages.part, Part) and not isinstance(stages.part, Retriever):
            raise UsageError(
                f"stages: {stages.name} is a {stages.part.role}, which needs evidence: put it after a retriever, such "
                f"as similarity + {stages.name}"
            )
        return [stages.name], stages.part.gives
    may_follow = isinstance(stages.right, NamedPart) and getattr(stages.right.part, "follows_answers", False)
    names, kind = resolve_stages(stages.left, is_last=is_last and may_follow)
    if stages.sign == "|":
        right, other = resolve_stages(stages.right, is_last=False)
        return [*names, "|", *right, *([f"{other} → {kind}"] if other != kind else [])], kind
    assert isinstance(stages.right, NamedPart)
    name, after = stages.right.name, stages.right.part
    if not isinstance(after, Reorganiser):
        raise UsageError(
            f"stages: {name} is a {after.role}, but after + only a reorganiser may stand; join two retrievers by |, "
            f"such as {stages.left} | {name}"
        )
    if after.answers and not is_last:
        raise UsageError(f"stages: {name} changes the answer: put it last")
    takes = after.takes or kind
    return [*names, *([f"{kind} → {takes}"] if takes != kind else []), name], after.gives or takes


def list_stages(stages: Expression) -> Iterator[Expression]:
    """Yield an expression's retrievers, ``… + reorganiser`` and ``… | …`` in the order in which they run."""
    if isinstance(stages, JoinedExpression):
        yield from list_stages(stages.left)
        if stages.sign == "|":
            yield from list_stages(stages.right)
    yield stages


# The registry: parts by name, found in the files of the folders, which are not imported for it

Slot = Literal["stage", "linker", "answerer"]
_FOLDERS: Mapping[Slot, tuple[str, ...]] = {
    "stage": ("retrieval", "reorganising", "plans"),
    "linker": ("linking",),
    "answerer": ("answering",),
}
_PART = re.compile(r'^@part\("([\w-]+)"\)\n(?:@.*\n)*class (\w+)', re.MULTILINE)
_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
ENTRY_POINTS = "lodestar.parts"
"""Entry point group for the parts of other installed packages, which a recipe may name like Lodestar's."""


@cache
def find_built_in_part_paths(slot: Slot) -> Mapping[str, str]:
    """Return ``module:Class`` of Lodestar's parts by name: those of an expression (`stage`), linkers or answerers."""
    here = Path(__file__).parent
    return {
        name: f"{__package__}.{folder}{'' if path.stem == '__init__' else f'.{path.stem}'}:{kind}"
        for folder in _FOLDERS[slot]
        for path in sorted((here / folder).glob("*.py"))
        for name, kind in _PART.findall(path.read_text(encoding="utf-8"))
    }


def _installed_places() -> dict[str, str]:
    """Return ``module:Class`` of the parts of installed packages, by name."""
    return {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}


def find_untrusted_recipe_parts(own: Mapping[str, str]) -> dict[str, str]:
    """Return a recipe's own parts whose code is neither Lodestar's nor that of an installed part."""
    known = find_built_in_part_paths("stage")
    trusted = {*known, *known.values(), *_installed_places().values()}
    return {name: place for name, place in own.items() if place not in trusted and _PLACE.fullmatch(place)}


def load_part_class(name: str, slot: Slot = "stage", own: Mapping[str, str] | None = None) -> type[Part]:
    """Return the class of a part.

    own: the recipe's own parts, ``module:Class`` by name, or the name of another part to use it twice with different
    options. Raises `UsageError` for an unknown name, or a class that is no part.
    """
    own, known = own or {}, find_built_in_part_paths(slot)
    place = own.get(name) or known.get(name) or (_installed_places().get(name) if slot == "stage" else None)
    if place is None:
        raise UsageError(f"there is no part {name!r}: expected one of {', '.join(sorted({*known, *own}))}")
    place = known.get(place, place)
    if not _PLACE.fullmatch(place):
        raise UsageError(f"part {name}: expected module:Class or the name of a part, found {place!r}")
    module, _, class_name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), class_name)
    except Exception as error:
        raise UsageError(f"part {name}: {place} cannot be imported: {one_line(error)}") from error
    if not (isinstance(found, type) and issubclass(found, Part) and not inspect.isabstract(found)):
        raise UsageError(f"part {name}: expected a class derived from a part, with __call__, found {place}")
    return found
