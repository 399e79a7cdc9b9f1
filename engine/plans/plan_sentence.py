"""Say a plan in a line of English, in the graph's words: "cities whose country is Peru with the smallest area"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ...models.wording import pluralise
from ..evidence.text import NO_LABELS, Labels, format_relation
from .plan import (
    AggregateValue,
    CompareNumbers,
    ComparisonWithSet,
    CountComparison,
    CountMembers,
    Difference,
    FilteredSet,
    FindMembers,
    FollowPath,
    HasMembers,
    HasPathTo,
    Intersection,
    KindSet,
    LacksPathTo,
    Part,
    RankGroups,
    TopByValue,
    TopicSet,
    Union,
    ValueComparison,
)

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
