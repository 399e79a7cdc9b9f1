"""A naive evaluator of plans over a list of triples, to compare the compiled query with."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lodestar.engine.plans.compile import PlanSchema, compute_date_bounds
from lodestar.engine.plans.plan import (
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
    RankGroups,
    TopByValue,
    TopicSet,
    Union,
    ValueComparison,
)

OPS = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


METRES = {"km": 1_000.0, "miles": 1_609.344}


class Naive:
    """Evaluates plans. triples: ids; texts: the name or value of an id."""

    def __init__(self, triples: Sequence[tuple[str, str, str]], texts: Mapping[str, str], schema: PlanSchema) -> None:
        self.triples, self.texts, self.schema = triples, texts, schema
        self.nodes = {h for h, _, _ in triples} | {t for _, _, t in triples}

    def ends(self, start: str, path: Sequence[str]) -> set[str]:
        found = {start}
        for step in path:
            name, back = step.removeprefix("^"), step.startswith("^")
            found = {h if back else t for h, r, t in self.triples if r == name and (t if back else h) in found}
        return found

    def key(self, node: str) -> float | None:
        text = self.texts[node].strip()
        if re.fullmatch(r"\d{4}-\d\d(-\d\d)?([T ].*)?", text):
            return compute_date_bounds(text[:10])[0] / 10_000
        try:
            number, _, unit = text.partition(" ")
            return float(number.replace(",", "")) * METRES.get(unit, 1)
        except ValueError:
            return None

    def fits(self, node: str, test: ValueComparison) -> bool:
        text = self.texts[node].strip()
        if test.text is not None:
            return bool(OPS[test.op](text.lower(), test.text.strip().lower()))
        is_date = bool(re.fullmatch(r"\d{4}-\d\d(-\d\d)?([T ].*)?", text))
        if test.number is not None:
            key = None if is_date else self.key(node)
            fits = not test.unit or text.partition(" ")[2] in METRES
            return key is not None and fits and bool(OPS[test.op](key, test.number * METRES.get(test.unit, 1)))
        if not is_date and not re.fullmatch(r"\d{4}", text):
            return False
        (first, last), (begin, end) = compute_date_bounds(text[:10]), compute_date_bounds(test.date or "")
        return {
            "<": last < begin, "<=": last <= end, ">": first > end, ">=": first >= begin,
            "=": first >= begin and last <= end, "!=": first > end or last < begin,
        }[test.op]  # fmt: skip

    def set(self, of: Any) -> set[str]:
        match of:
            case TopicSet(ids):
                return set(ids) & self.nodes
            case KindSet(name):
                source = self.schema.kinds[name]
                typed = {h for h, r, t in self.triples if r in self.schema.types and t in source.types}
                heads = {h for h, r, _ in self.triples if r in source.ends}
                return typed | heads | {t for _, r, t in self.triples if f"^{r}" in source.ends}
            case FollowPath(inner, path):
                return {end for each in self.set(inner) for end in self.ends(each, path)}
            case Intersection(left, right):
                return self.set(left) & self.set(right)
            case Union(left, right):
                return self.set(left) | self.set(right)
            case Difference(left, right):
                return self.set(left) - self.set(right)
            case FilteredSet(inner, condition):
                return {each for each in self.set(inner) if self.holds(each, condition)}
            case TopByValue(inner, path, how, k, skip, count):
                sign = -1 if how == "most" else 1
                places = {}
                for each in self.set(inner):
                    ends = self.ends(each, path)
                    keys = [float(len(ends))] if count else [key for end in ends if (key := self.key(end)) is not None]
                    if keys:
                        places[each] = min(sign * key for key in keys)
                order = sorted(places.values())
                if skip >= len(order):
                    return set()
                begin, end = order[skip], order[min(skip + k, len(order)) - 1]
                return {each for each, place in places.items() if begin <= place <= end}
        raise AssertionError(of)

    def holds(self, node: str, condition: Any) -> bool:
        ends = self.ends(node, condition.path)
        match condition:
            case HasPathTo(_, to):
                return bool(ends & self.set(to))
            case LacksPathTo(_, to):
                return not (ends if to is None else ends & self.set(to))
            case CountComparison(_, op, number):
                return bool(OPS[op](len(ends), number))
            case ComparisonWithSet(path, op, to, how):
                keys = [key for end in ends if (key := self.key(end)) is not None]
                number = self.number(AggregateValue(to, path, how))
                return bool(keys) and number is not None and bool(OPS[op](max(keys), number))
        return any(self.fits(end, condition) for end in ends)

    def number(self, plan: Any) -> float | None:
        members = self.set(plan.of)
        if isinstance(plan, CountMembers):
            return float(len(members))
        keys = [key for each in members for end in self.ends(each, plan.path) if (key := self.key(end)) is not None]
        if not keys:
            return None
        return {"sum": sum(keys), "mean": sum(keys) / len(keys), "min": min(keys), "max": max(keys)}[plan.how]

    def run(self, plan: Any) -> Any:
        """Return a set of ids, a number, yes or no, or the number of each group."""
        match plan:
            case FindMembers(of):
                return self.set(of)
            case HasMembers(of):
                return bool(self.set(of))
            case CountMembers() | AggregateValue():
                return self.number(plan)
            case CompareNumbers(left, op, right):
                one, two = self.number(left), self.number(right)
                return None if one is None or two is None else bool(OPS[op](one, two))
            case RankGroups(of, by, how, path):
                groups: dict[str, list[float]] = {}
                for each in self.set(of):
                    ends = self.ends(each, path) if path else ()
                    keys = [k for e in ends if (k := self.key(e)) is not None] if path else [1.0]
                    for group in self.ends(each, by):
                        groups.setdefault(group, []).extend(keys)
                return {g: sum(k) / (len(k) if how == "mean" else 1) for g, k in groups.items() if k}
        raise AssertionError(plan)
