"""Define plans, what a question asks of the graph: expressions over sets, values and counts; say them in English.

A plan is made of frozen dataclasses, and as JSON of objects whose key `do` names the class in lower case. A path is
relations in walking order, ``^name`` against the arrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le, Len, MinLen
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ...models.wording import pluralise
from ..errors import InputError
from ..evidence.text import NO_LABELS, Labels, format_relation

MAX_DEPTH = 8
MAX_PARTS = 40
"""Sets and conditions of a plan, all told."""
MAX_CHARS = 200_000

Path: TypeAlias = Annotated[tuple[str, ...], Len(1, 4)]
Op = Literal["<", "<=", "=", "!=", ">=", ">"]
Most = Literal["most", "least"]
Date: TypeAlias = Annotated[str, Field(pattern=r"^\d{4}(-\d\d(-\d\d)?)?$")]


@dataclass(frozen=True, slots=True)
class TopicSet:
    """Entities or literals by id."""

    ids: Annotated[tuple[str, ...], Len(1, 1_000)]
    do: Literal["topics"] = "topics"


@dataclass(frozen=True, slots=True)
class KindSet:
    """All things of a kind, by its name: a type of the graph, or what stands at an end of a relation."""

    name: Annotated[str, MinLen(1)]
    do: Literal["kind"] = "kind"


@dataclass(frozen=True, slots=True)
class FollowPath:
    """What a path leads to from a set."""

    of: Set
    path: Path
    do: Literal["follow"] = "follow"


@dataclass(frozen=True, slots=True)
class FilteredSet:
    """Those of a set for which a condition holds."""

    of: Set
    condition: Condition
    do: Literal["where"] = "where"


@dataclass(frozen=True, slots=True)
class TopByValue:
    """Those of a set with the greatest or smallest values of a path, or number of its ends with `count`: the `k` after
    the first `skip`, and all equals of the last."""

    of: Set
    path: Path
    how: Most = "most"
    k: Annotated[int, Ge(1), Le(1_000)] = 1
    skip: Annotated[int, Ge(0), Le(1_000)] = 0
    count: bool = False
    do: Literal["best"] = "best"


@dataclass(frozen=True, slots=True)
class Intersection:
    """What is in two sets."""

    left: Set
    right: Set
    do: Literal["both"] = "both"


@dataclass(frozen=True, slots=True)
class Union:
    """What is in one of two sets."""

    left: Set
    right: Set
    do: Literal["either"] = "either"


@dataclass(frozen=True, slots=True)
class Difference:
    """What is in the left set and not in the right one."""

    left: Set
    right: Set
    do: Literal["without"] = "without"


@dataclass(frozen=True, slots=True)
class HasPathTo:
    """A path leads to one of a set."""

    path: Path
    to: Set
    do: Literal["has"] = "has"


@dataclass(frozen=True, slots=True)
class LacksPathTo:
    """A path leads to none of a set; without one, nowhere."""

    path: Path
    to: Set | None = None
    do: Literal["lacks"] = "lacks"


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """One value of a path compares so: with a number (of a unit as the graph writes it, if it does), a date of any
    precision, or a text regardless of case."""

    path: Path
    op: Op
    number: float | None = None
    date: Date | None = None
    text: str | None = None
    unit: str = ""
    do: Literal["is"] = "is"


@dataclass(frozen=True, slots=True)
class ComparisonWithSet:
    """The greatest value of a path compares so with the greatest one of another set by the same path, or their mean."""

    path: Path
    op: Op
    to: Set
    how: Literal["max", "mean"] = "max"
    do: Literal["than"] = "than"


@dataclass(frozen=True, slots=True)
class CountComparison:
    """The number of ends of a path compares so."""

    path: Path
    op: Op
    number: Annotated[int, Ge(0)]
    do: Literal["countof"] = "countof"


Set: TypeAlias = Annotated[
    TopicSet | KindSet | FollowPath | FilteredSet | TopByValue | Intersection | Union | Difference,
    Field(discriminator="do"),
]
Condition: TypeAlias = Annotated[
    HasPathTo | LacksPathTo | ValueComparison | ComparisonWithSet | CountComparison, Field(discriminator="do")
]


@dataclass(frozen=True, slots=True)
class FindMembers:
    """The members of a set."""

    of: Set
    do: Literal["find"] = "find"


@dataclass(frozen=True, slots=True)
class CountMembers:
    """How many a set has."""

    of: Set
    do: Literal["count"] = "count"


@dataclass(frozen=True, slots=True)
class HasMembers:
    """Whether a set has any."""

    of: Set
    do: Literal["exists"] = "exists"


@dataclass(frozen=True, slots=True)
class AggregateValue:
    """The sum, mean, least or greatest of the values of a path, over a set."""

    of: Set
    path: Path
    how: Literal["sum", "mean", "min", "max"]
    do: Literal["total"] = "total"


@dataclass(frozen=True, slots=True)
class RankGroups:
    """The groups of a set by the ends of a path, with the number of members of each, or the sum or mean of a value."""

    of: Set
    by: Path
    how: Literal["count", "sum", "mean"] = "count"
    path: Annotated[tuple[str, ...], Len(0, 4)] = ()
    do: Literal["rank"] = "rank"


Number: TypeAlias = Annotated[CountMembers | AggregateValue, Field(discriminator="do")]


@dataclass(frozen=True, slots=True)
class CompareNumbers:
    """Whether two numbers compare so."""

    left: Number
    op: Op
    right: Number
    do: Literal["compare"] = "compare"


Plan: TypeAlias = Annotated[
    FindMembers | CountMembers | HasMembers | AggregateValue | RankGroups | CompareNumbers, Field(discriminator="do")
]
Part: TypeAlias = (
    TopicSet | KindSet | FollowPath | FilteredSet | TopByValue | Intersection | Union | Difference
    | HasPathTo | LacksPathTo | ValueComparison | ComparisonWithSet | CountComparison
    | FindMembers | CountMembers | HasMembers | AggregateValue | RankGroups | CompareNumbers
)  # fmt: skip


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Plan, config=ConfigDict(extra="forbid"))


def _parts_of(part: Part) -> Iterator[Part]:
    """Yield the parts that a part is made of."""
    for each in fields(part):
        value = getattr(part, each.name)
        if is_dataclass(value):
            yield value  # type: ignore[misc]


def iterate_parts(part: Part) -> Iterator[Part]:
    """Yield a part and all that it is made of."""
    yield part
    for each in _parts_of(part):
        yield from iterate_parts(each)


def is_plan_within_bounds(plan: Part) -> bool:
    """Return whether `check_plan` accepts a plan."""
    try:
        check_plan(plan)
    except InputError:
        return False
    return True


def check_plan(plan: Part) -> None:
    """Raise `InputError` for a plan that is too deep, too large, or compares a value with none or several."""
    waiting, count = [(plan, 1)], 0
    while waiting:
        part, depth = waiting.pop()
        count += 1
        if depth > MAX_DEPTH + 1:  # of the plan itself, which is no set
            raise InputError(f"the plan is nested more than {MAX_DEPTH} deep")
        if count > MAX_PARTS:
            raise InputError(f"the plan has more than {MAX_PARTS} parts")
        if isinstance(part, ValueComparison) and sum(v is not None for v in (part.number, part.date, part.text)) != 1:
            raise InputError("a comparison takes one of number, date, text")
        if isinstance(part, ValueComparison) and part.text is not None and part.op not in ("=", "!="):
            raise InputError(f"a text is compared by = or !=, found {part.op!r}")
        if isinstance(part, RankGroups) and (part.how == "count") == bool(part.path):
            raise InputError("a rank by sum or mean takes a path to values, one by count none")
        waiting += [(each, depth + 1) for each in _parts_of(part)]


def parse_plan(text: str | bytes) -> Any:
    """Return the plan of a JSON text. Raises `InputError` that names the place of the first fault."""
    if len(text) > MAX_CHARS:
        raise InputError(f"the plan has more than {MAX_CHARS:,} characters")
    try:
        plan = _adapter().validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        raise InputError(f"not a plan{f', at {place}' if place else ''}: {first['msg']}") from error
    check_plan(plan)
    return plan


def serialise_plan(plan: Any) -> dict[str, Any]:
    """Return a plan as JSON objects; what has its default is left out."""
    data: dict[str, Any] = {"do": plan.do}
    for each in fields(plan):
        value = getattr(plan, each.name)
        if value != each.default:
            data[each.name] = serialise_plan(value) if is_dataclass(value) else value
    return data


_OPS = {"<": "less than ", "<=": "at most ", "=": "", "!=": "other than ", ">=": "at least ", ">": "more than "}
_DATE_OPS = {**_OPS, "<": "before ", ">": "after ", "<=": "until ", ">=": "since "}
_COUNT_OPS = {**_OPS, "=": "exactly ", "<": "fewer than "}
_TOTALS = {"sum": "total", "mean": "average", "min": "least", "max": "greatest"}
_DATED = frozenset("date year day time born birth".split())
SAYS_NOTHING = frozenset("number amount value quantity date year".split())
"""The last words of relations that say no more than that a value follows."""
_IN_PARTS = re.compile(r"\w+(\.\w+)+")
_ORDINALS = ("", "second ", "third ", "fourth ", "fifth ")


def verbalise_plan(  # noqa: PLR0911, PLR0912
    plan: Part, names: Mapping[str, str] | None = None, labels: Labels = NO_LABELS
) -> str:
    """Return a plan in one line; names: of topics, by id; labels: of relations, by name."""

    def say(part: Part) -> str:
        return verbalise_plan(part, names, labels)

    match plan:
        case FindMembers(of):
            return say(of)
        case CountMembers(of):
            return f"the number of {say(of)}"
        case HasMembers(of):
            return f"whether there are {say(of)}"
        case AggregateValue(of, path, how):
            return f"the {_TOTALS[how]} {_say_path(path, labels)} of {say(of)}"
        case RankGroups(of, by, how, path):
            what = f"the {_TOTALS[how]} {_say_path(path, labels)}" if path else "the number"
            return f"{what} of {say(of)} for each {_say_path(by, labels)}"
        case CompareNumbers(left, op, right):
            return f"whether {say(left)} is {_OPS[op] or 'equal to '}{say(right)}"
        case TopicSet(ids):
            return " or ".join((names or {}).get(each, each) for each in ids[:3]) + (" …" if len(ids) > 3 else "")
        case KindSet(name):
            return _say_kind(name, labels)
        case FollowPath(of, path):
            said = say(of)
            for step in _leave_out_unsaid(path, labels):
                word = _bare(step, labels)
                said = f"what has {said} as {word}" if step.startswith("^") else f"the {word} of {said}"
            return said
        case Intersection(left, right):
            return f"{say(left)} that are also {say(right)}"
        case Union(left, right):
            return f"{say(left)} or {say(right)}"
        case Difference(left, right):
            return f"{say(left)} except {say(right)}"
        case TopByValue(of, path, how, k, skip, count):
            return f"{f'the {k} ' if k > 1 else ''}{say(of)} with the {_say_order(path, how, skip, count, labels)}"
        case FilteredSet(of, condition):
            return f"{say(of)} {say(condition)}"
        case HasPathTo((step,), to) if step.startswith("^"):
            return f"that are the {_bare(step, labels)} of {say(to)}"
        case HasPathTo(path, to):
            return f"whose {_say_path(path, labels)} is {say(to)}"
        case LacksPathTo((step,), to) if step.startswith("^"):
            return f"that are not the {_bare(step, labels)} of {'anything' if to is None else say(to)}"
        case LacksPathTo(path, to):
            said = _say_path(path, labels)
            return f"without {said}" if to is None else f"whose {said} is not {say(to)}"
        case ComparisonWithSet(path, op, to, how):
            than = f"{_OPS[op]}that of {'the average of ' if how == 'mean' else ''}{say(to)}"
            return f"whose {_say_path(path, labels)} is {than}"
        case CountComparison(path, op, number):
            return f"with {_COUNT_OPS[op]}{number} {_say_path(path, labels)}"
        case ValueComparison(path, op, number, date, text, unit):
            value = f"{number:,.10g} {unit}".strip() if number is not None else (date or f"“{text}”")
            return f"whose {_say_path(path, labels)} is {(_DATE_OPS if date else _OPS)[op]}{value}"


def _bare(step: str, labels: Labels) -> str:
    """Return the words of a relation; of a name in parts the last: "capital" of location.country.capital."""
    name = step.removeprefix("^")
    if name in labels:
        return format_relation(name, labels)
    return name.rpartition(".")[2].replace("_", " ") if _IN_PARTS.fullmatch(name) else format_relation(name)


def _leave_out_unsaid(path: Sequence[str], labels: Labels) -> Sequence[str]:
    """Return a path without steps that say nothing more: "number" of a population that has one for each year, and what
    the next step says again ("adjoin s", "adjoins")."""
    words = [_bare(step, labels) for step in path]
    last = len(path) - (len(path) > 1 and words[-1] in SAYS_NOTHING)
    said_again = [one != two and one[:5] == two[:5] for one, two in pairwise(words[:last])]
    return [step for step, is_said in zip(path[:last], [*said_again, False], strict=True) if not is_said]


def _say_path(path: Sequence[str], labels: Labels) -> str:
    """Return a path as a noun: "capital", "population of the capital", "what has it as capital"."""
    steps = _leave_out_unsaid(path, labels)
    words = [f"what has it as {_bare(step, labels)}" if step.startswith("^") else _bare(step, labels) for step in steps]
    return " of the ".join(reversed(words))


def _say_kind(name: str, labels: Labels) -> str:
    """Return the things of a kind; it may be an end of a relation, by its step."""
    if name.startswith("^"):
        return f"all that is the {_bare(name, labels)} of something"
    return f"all that has a {_bare(name[4:], labels)}" if name.startswith("has ") else pluralise(name)


def _say_order(path: Sequence[str], how: str, skip: int, count: bool, labels: Labels) -> str:
    ordinal = _ORDINALS[skip] if skip < len(_ORDINALS) else f"{skip + 1}th "
    if count:
        return f"{ordinal}{'most' if how == 'most' else 'fewest'} {_say_path(path, labels)}"
    is_date = not _DATED.isdisjoint(_bare(path[-1], labels).split())
    word = {"most": "latest" if is_date else "greatest", "least": "earliest" if is_date else "smallest"}[how]
    return f"{ordinal}{word} {_say_path(path, labels)}"
