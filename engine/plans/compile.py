"""Compile a plan to one read-only query, composed of the files in ``cypher/plans/``, and execute it.

A set becomes a subquery with a row for each member: x, the node; w, the triples that make it a member; by, the value
that it was ordered by and the runner-up. Each file's parameters get the number of its place in the plan. "Has" is the
intersection with what the path leads to against its arrows, so that it is as fast as the smaller set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from rapidfuzz import process

from ... import cypher as cypher_folder
from ..data_model import Entity, Triple
from ..errors import InputError, QueryTimeoutError
from ..neo4j import QueryTemplate, Request, Row, quote_identifier
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
    Path,
    Plan,
    RankGroups,
    TopByValue,
    TopicSet,
    Union,
    ValueComparison,
    check_plan,
)

if TYPE_CHECKING:
    from ..context import Context

MAX_ROWS = 100
"""Rows that come back; all are counted."""


@dataclass(frozen=True, slots=True)
class KindSource:
    """Where the things of a kind are: types by id, and ends of relations (``name`` its heads, ``^name`` its tails)."""

    types: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanSchema:
    """What a plan may name. relations: the relationship type of each, by name; types: the relations from things to what
    they are; kinds: by name."""

    relations: Mapping[str, str]
    types: tuple[str, ...] = ()
    kinds: Mapping[str, KindSource] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A member of a result. key: the value that it was ordered by; witness: the triples that make it a member."""

    entity: Entity
    key: float | None = None
    next: tuple[str, float] | None = None
    """The runner-up and its key."""
    witness: tuple[Triple, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What a plan gives. total: how many there are; rows: the first of them; missing: members without a value.

    number: of a count or total; None where no value is there. yes: of a plan that asks whether.
    """

    total: int
    rows: tuple[PlanRow, ...]
    missing: int = 0
    number: float | None = None
    yes: bool | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it gives neither a thing, nor a number, nor a yes or no."""
        return self.yes is None and self.number is None and not self.total

    @property
    def is_cut(self) -> bool:
        """Whether there are more rows than came back."""
        return self.total > len(self.rows) > 0 and len(self.rows) == MAX_ROWS


@cache
def _fragment(name: str) -> str:
    text = resources.files(cypher_folder).joinpath("plans", f"{name}.cypher").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("//"))


def compile_plan(plan: Plan, schema: PlanSchema) -> Request[PlanResult]:
    """Return the request of a plan. Raises `InputError` for a plan that is too large, and one with a relation or a kind
    that the graph does not have."""
    check_plan(plan)
    compiler = _Compiler(schema)
    text = compiler.whole(plan)
    query = QueryTemplate("plan", "read", text)
    return Request(query, compiler.params | {"limit": MAX_ROWS}, lambda rows: _decode(plan, rows))


def execute_plans(ctx: Context, requests: Sequence[Request[PlanResult]]) -> list[PlanResult | None]:
    """Return what plans give, executed together; None for one that takes too long."""
    try:
        return ctx.db.run_all(requests)
    except QueryTimeoutError:
        return [None] if len(requests) == 1 else [each for one in requests for each in execute_plans(ctx, [one])]


class _Compiler:
    """Composes the text of a query, and collects its parameters."""

    def __init__(self, schema: PlanSchema) -> None:
        self.schema = schema
        self.params: dict[str, Any] = {}

    def fill(self, name: str, texts: Mapping[str, str] | None = None, **params: Any) -> str:
        """Return a file with its parameters numbered and texts in the place of its names."""
        at = len(self.params)
        for each, value in params.items():
            self.params[f"{each}_{at}"] = value
        numbered = re.sub(r"\$(\w+)", lambda m: f"${m[1]}_{at}" if m[1] in params else m[0], _fragment(name))
        return re.sub(r"\{\{(\w+)\}\}", lambda m: (texts or {})[m[1]], numbered)

    def whole(self, plan: Plan) -> str:
        match plan:
            case FindMembers(of) | CountMembers(of) | HasMembers(of):
                return self.fill("find", {"SET": self.set(of)})
            case AggregateValue(of, path, how):
                texts = {"SET": self.set(of), "STEPS": self.steps(path), "VALUE": _fragment("value")}
                return self.fill("total", texts, how=how)
            case RankGroups(of, by, how, path):
                values = {"STEPS": self.steps(path), "VALUE": _fragment("value")} if path else {}
                keys = self.fill("rank_values" if path else "rank_counts", values)
                return self.fill("rank", {"SET": self.set(of), "BY": self.steps(by), "VALUES": keys}, how=how)
            case CompareNumbers(left, op, right):
                return self.fill("compare", {"LEFT": self.whole(left), "RIGHT": self.whole(right)}, op=op)

    def set(self, of: Part) -> str:
        match of:
            case TopicSet(ids):
                return self.fill("topics", ids=list(ids))
            case KindSet(name):
                return self.kind(name)
            case FollowPath(inner, path):
                return self.follow(self.set(inner), path)
            case Intersection(left, right) | Union(left, right) | Difference(left, right):
                return self.fill(of.do, {"LEFT": self.set(left), "RIGHT": self.set(right)})
            case TopByValue(inner, path, how, k, skip, count):
                sign = -1 if how == "most" else 1
                key = (
                    self.fill("key_count")
                    if count
                    else self.fill("key_value", {"VALUE": _fragment("value")}, sign=sign)
                )
                texts = {"SET": self.set(inner), "STEPS": self.steps(path), "KEY": key}
                return self.fill("best", texts, sign=sign, k=k, skip=skip)
            case FilteredSet(inner, condition):
                return self.where(self.set(inner), condition)
        raise AssertionError(of)

    def where(self, of: str, condition: Part) -> str:
        match condition:
            case HasPathTo(path, to):
                return self.fill("both", {"LEFT": of, "RIGHT": self.follow(self.set(to), reverse_path(path))})
            case LacksPathTo(path, None):
                return self.fill("count_of", {"SET": of, "STEPS": self.steps(path)}, op="=", number=0)
            case LacksPathTo(path, to) if to is not None:
                return self.fill("without", {"LEFT": of, "RIGHT": self.follow(self.set(to), reverse_path(path))})
            case CountComparison(path, op, number):
                return self.fill("count_of", {"SET": of, "STEPS": self.steps(path)}, op=op, number=number)
            case ComparisonWithSet(path, op, to, how):
                texts = {"SET": of, "TO": self.set(to), "STEPS": self.steps(path), "VALUE": _fragment("value")}
                return self.fill("than", texts, op=op, how=how)
            case ValueComparison(path, op, number, date, text, unit):
                if date is not None:
                    first, last = compute_date_bounds(date)
                    test = self.fill("is_date", op=op, first=first, last=last)
                elif text is not None:
                    test = self.fill("is_text", op=op, text=text.strip().lower())
                else:
                    from ..writing import convert_to_base_unit  # it needs DuckDB

                    base, dimension = convert_to_base_unit(number, unit)
                    test = self.fill("is_number", op=op, number=base, unit=dimension)
                texts = {"SET": of, "STEPS": self.steps(path), "VALUE": _fragment("value"), "TEST": test}
                return self.fill("is", texts)
        raise AssertionError(condition)

    def kind(self, name: str) -> str:
        source = self.schema.kinds.get(name)
        if source is None:
            raise InputError(f"the graph has no kind {name!r}{_nearest(name, self.schema.kinds)}")
        heads = [end for end in source.ends if not end.startswith("^")]
        tails = [end.removeprefix("^") for end in source.ends if end.startswith("^")]
        sets = [self.ends("instances", self.schema.types, ids=list(source.types))] if source.types else []
        sets += [self.ends(*each) for each in (("heads", heads), ("tails", tails)) if each[1]]
        text = sets[0]
        for each in sets[1:]:
            text = self.fill("either", {"LEFT": text, "RIGHT": each})
        return text

    def follow(self, of: str, path: Path) -> str:
        return self.fill("follow", {"SET": of, "STEPS": self.steps(path)})

    def ends(self, name: str, relations: Sequence[str], **params: Any) -> str:
        """Return the query for what stands at the ends of relations: one pattern, however many there are."""
        types = dict.fromkeys(map(self.type_of, relations))
        return self.fill(name, {"TYPES": "|".join(map(quote_identifier, types))}, relations=list(relations), **params)

    def steps(self, path: Path) -> str:
        return "\n".join(map(self.step, path))

    def step(self, step: str) -> str:
        relation = step.removeprefix("^")
        name = "step_back" if step.startswith("^") else "step"
        return self.fill(name, type=self.type_of(relation), relation=relation)  # one query for plans of the same form

    def type_of(self, relation: str) -> str:
        type_ = self.schema.relations.get(relation)
        if type_ is None:
            raise InputError(f"the graph has no relation {relation!r}{_nearest(relation, self.schema.relations)}")
        return type_


def reverse_path(path: Path) -> Path:
    """Return the path that leads back."""
    return tuple(step[1:] if step.startswith("^") else f"^{step}" for step in reversed(path))


def compute_date_bounds(date: str) -> tuple[int, int]:
    """Return the first and the last day of a date of any precision, as year · 10000 + month · 100 + day."""
    year, *rest = (int(each) for each in date.split("-"))
    first, last = [*rest, *(1, 1)[len(rest) :]], [*rest, *(12, 31)[len(rest) :]]
    return 10_000 * year + 100 * first[0] + first[1], 10_000 * year + 100 * last[0] + last[1]


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    found = process.extractOne(name, list(known), score_cutoff=60)
    return f": did you mean {found[0]!r}?" if found else ""


def _decode(plan: Plan, found: Sequence[Row]) -> PlanResult:
    total, number, missing, rows = found[0]
    decoded = tuple(_row(*row) for row in rows)
    match plan:
        case CountMembers() | AggregateValue():
            return PlanResult(total, decoded, missing, number)
        case HasMembers():
            return PlanResult(total, decoded, yes=total > 0)
        case CompareNumbers():
            return PlanResult(total or 0, decoded, yes=None if total is None else bool(total))
    return PlanResult(total, decoded, missing)


def _row(id_: str, name: str | None, is_literal: bool, key: float | None, after: Any, witness: Any) -> PlanRow:
    triples = tuple(
        Triple(Entity(head, head_name), relation, Entity(tail, tail_name, literal))
        for head, head_name, relation, tail, tail_name, literal in witness
    )
    runner_up = (after[1] or after[0], after[2]) if after and after[0] is not None else None
    return PlanRow(Entity(id_, name, is_literal), key, runner_up, tuple(dict.fromkeys(triples)))
