"""Combine neighbouring parts of plans: a rule of two returns what they may make together.

`_words_set` joins words on the left and a set on the right. `RULES`, at the end, has the rule of each two kinds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .chart import (
    NOTHING,
    SEVERAL,
    WITHIN,
    Chart,
    ChartNode,
    ComparedValue,
    NumberOrDate,
    is_single_topic_set,
    make_relation_word_features,
    make_unmentioned_path_features,
)
from .plan import (
    AggregateValue,
    CompareNumbers,
    ComparisonWithSet,
    CountComparison,
    Difference,
    FilteredSet,
    FollowPath,
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
from .schema import DATES, NUMBERS, THROUGH, SetDistributions, name_end_kind, split_mediated_step
from .words import get_unit_dimension, get_unit_size, read_plan_lexicon

Rule = Callable[[Chart, ChartNode, ChartNode], list[ChartNode]]


def _words_set(chart: Chart, words: ChartNode, of: ChartNode, *, after: bool = False) -> list[ChartNode]:
    """Words and a set: what a relation that the words mean leads to."""
    return [
        chart.make_set(
            plan, chart.schema.ends[step], (words, of), **make_relation_word_features(fit, words),
            share=math.log(share), size=1, relation_after_its_topic=float(after),
            one_where_several=float(words.cls is SEVERAL and chart.is_one(plan)),
        )
        for step, fit in words.plan.items()
        if (share := of.cls.steps.get(step, 0.0)) > 0 and step in chart.schema.ends
        and (plan := FollowPath(of.plan, split_mediated_step(step)))
    ]  # fmt: skip


def _peak_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The highest of the highest points of the states."""
    step, path, how = left.plan
    share = right.cls.steps.get(step, 0.0)
    if not share or is_single_topic_set(right.plan):
        return []
    plan = TopByValue(FollowPath(right.plan, split_mediated_step(step)), path, how)
    return [chart.make_set(plan, chart.schema.ends[step], (left, right), share=math.log(share), size=2)]


def _set_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """A noun and what modifies it, which stands behind it or before it."""
    return [*_modify(chart, left, right, before=False), *_modify(chart, right, left, before=True)]


def _modify(chart: Chart, head: ChartNode, mod: ChartNode, *, before: bool) -> list[ChartNode]:
    if (
        isinstance(best := head.plan, TopByValue) and not before
    ):  # the largest city in Peru is the largest of those in Peru
        of = replace(head, plan=best.of, more=best.of.name if isinstance(best.of, KindSet) else None)
        inner = _modify(chart, of, mod, before=before)
        return [replace(node, plan=replace(best, of=node.plan)) for node in inner if not chart.is_one(node.plan)]
    made, parts = _meet(chart, head, mod), (head, mod)
    pure = head.more if isinstance(head.plan, KindSet) and head.more in chart.schema.of_kind else None
    is_amount = head.cls.value in NUMBERS or head.cls.value in DATES  # equal ones need not be the same
    both_named = isinstance(head.plan, TopicSet) and isinstance(mod.plan, TopicSet)
    overlap = 0.0 if is_amount or both_named else chart.overlap(head.cls, mod.cls)
    common = {"modifier_before_its_noun": float(before), "several_things_modified": float(pure is None)}
    if pure is not None:
        common["kind_alone"] = -1
    is_one = is_single_topic_set(head.plan) and chart.form != "yes"
    if overlap > 0 and not is_one and not (isinstance(mod.plan, KindSet) and pure in (mod.more, None)):
        if pure and mod.cls.kinds.get(pure, 0.0) > 0.98:
            cls = SetDistributions(mod.cls.steps, {pure: 1.0}, mod.cls.value)
            made.append(chart.make_set(mod.plan, cls, parts, mod.more, kind_agrees=1, **common))
        else:
            kinds = head.cls.kinds
            if not pure:
                kinds = {kind: min(share, mod.cls.kinds.get(kind, 0)) for kind, share in kinds.items()}
            own = {"kind_as_filter": 1.0, "kind_overlap": math.log(overlap), "size": 1.0}
            made.append(
                chart.make_set(
                    Intersection(head.plan, mod.plan), SetDistributions(head.cls.steps, kinds), parts, **own, **common
                )
            )
    if isinstance(head.plan, TopicSet) and not (both_named and chart.form == "yes"):
        return made
    if overlap > 0.5 and not isinstance(mod.plan, KindSet | TopicSet):
        return made  # what it leads to are such things themselves
    for path, share, cost in chart.paths(head.cls, mod.cls):
        own = {"size": 1.0, "share": share, cost: 1.0, **common}
        if mod.more == "in":  # says that it holds or contains them
            said = [chart.steps.match(word) for word in WITHIN]
            own["relation_words"] = 0.7 * max(each.get(step, 0.0) for each in said for step in path)
        made.append(chart.make_set(FilteredSet(head.plan, HasPathTo(path, mod.plan)), head.cls, parts, **own))
    return made


def _meet(chart: Chart, head: ChartNode, mod: ChartNode) -> list[ChartNode]:
    """The rating that Ann gave Heat: what both of two things lead to by one mediator says it."""
    is_of_one = isinstance(head.plan, FollowPath) and isinstance(head.plan.of, TopicSet)
    if not is_of_one or not isinstance(mod.plan, TopicSet) or chart.form == "yes":
        return []
    *way, last = head.plan.path
    others = [(split_mediated_step(step), share) for step, share in mod.cls.steps.items()]
    return [
        chart.make_set(
            FollowPath(Intersection(FollowPath(head.plan.of, tuple(way)), FollowPath(mod.plan, other[:1])), (last,)),
            head.cls, (head, mod), size=1, share=math.log(share),
        )
        for other, share in others
        if way and len(other) == 2 and other[1] == last and (other[:1] != tuple(way) or head.plan.of != mod.plan)
    ]  # fmt: skip


def _superlative_set(chart: Chart, left: ChartNode, right: ChartNode, *, after: bool = False) -> list[ChartNode]:
    """The largest of a set: by a property that fits the adjective; the most of a kind: a key that counts them."""
    measured, is_bare, k, skip = left.more
    made, parts = [], (left, right)
    if is_bare and not after and not isinstance(right.plan, TopicSet):
        if isinstance(right.plan, KindSet):
            key = (left.plan, None, right.plan, k, skip)
            made.append(chart.make("key", key, right.cls, parts, "count", superlative_by_count=1))
        if not chart.is_one(right.plan):
            made.append(chart.make("ranked", right.plan, right.cls, parts, (left.plan, k, skip)))
    own = {"superlative_after_its_noun": float(after), "size": 1.0}
    own["one_where_several"] = float(chart.is_one(right.plan))
    for _, path, sign, fits in chart.measured(measured, right.cls):
        how: Any = "most" if sign * left.plan > 0 else "least"
        made.append(chart.make_set(TopByValue(right.plan, path, how, k, skip), right.cls, parts, **fits, **own))
    return made


def _superlative_several(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Which is longer, the Rhine or the Danube: the first of both."""
    _, one, two = right.plan
    both = ChartNode("set", TopicSet((*one.ids, *two.ids)), right.feats, right.score, right.cls)
    return _superlative_set(chart, left, both)


def _ranked_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The top five cities by population."""
    sign, k, skip = left.more
    how: Any = "most" if sign > 0 else "least"
    return [
        chart.make_set(
            TopByValue(left.plan, split_mediated_step(step), how, k, skip),
            left.cls,
            (left, right),
            **make_relation_word_features(fit, right),
            size=1,
        )
        for step, fit in right.plan.items()
        if chart.is_number(step) and step in left.cls.steps
    ]


def _ordinal_superlative(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The second largest."""
    measured, is_bare, k, _ = right.more
    return [chart.make("superlative", right.plan, None, (left, right), (measured, is_bare, k, left.plan))]


def _value_superlative(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The five largest; the top five."""
    number = left.more.whole
    measured, is_bare, _, skip = right.more
    if left.more.op != "=" or number is None or not 1 <= number <= 1_000:
        return []
    return [chart.make("superlative", right.plan, None, (left, right), (measured, is_bare, number, skip))]


def _superlative_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The largest population: a key by the property that the words mean."""
    _, is_bare, k, skip = left.more
    return [
        chart.make(
            "key",
            (left.plan, step, None, k, skip),
            None,
            (left, right),
            "value",
            **make_relation_word_features(fit, right),
        )
        for step, fit in right.plan.items()
        if is_bare and chart.is_number(step)
    ]


def _words_key(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Borders the most states: a key that counts, by the relation that the words mean."""
    sign, step, of, k, skip = right.plan
    if right.more != "count" or step:
        return []
    return [
        chart.make("key", (sign, step, of, k, skip), right.cls, (left, right), "count", **fits)
        for step, fits in _meanings(chart, left, right.cls)
    ]


def _set_key(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    sign, step, _, k, skip = right.plan
    how: Any = "most" if sign > 0 else "least"
    parts, own = (left, right), {"one_where_several": float(chart.is_one(left.plan)), **_far(left)}
    if right.more == "value":
        return [
            chart.make_set(
                TopByValue(left.plan, path, how, k, skip),
                left.cls,
                parts,
                property_two_steps_away=float(far),
                size=1,
                **own,
            )
            for path, far in chart.to_step(left.cls, step)
        ]
    return [
        chart.make_set(
            TopByValue(left.plan, path, how, k, skip, count=True), left.cls, parts,
            **own, **fits | {"size": 1.0 + fits.get("size", 0.0)},
        )
        for path, fits in _ways(chart, left, step, right)
    ]  # fmt: skip


def _key_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The highest salary of the employees: how high it is, or whose."""
    found = []
    for node in _set_key(chart, right, left):
        found.append(replace(node, score=node.score + chart.weights["whose_superlative"]))
        found[-1].feats = ((node.feats,), (("whose_superlative", 1.0),))
        if left.more == "value" and left.plan[1] in chart.schema.ends and isinstance(best := node.plan, TopByValue):
            cls = SetDistributions(value="number")
            found.append(ChartNode("set", FollowPath(best, best.path), node.feats, node.score, cls))
    return found


def _comparing_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Longer than the Rhine, than the average river."""
    how = "max" if isinstance(right.plan, TopicSet | TopByValue) else right.more
    if how not in ("max", "mean"):
        return []
    return [chart.make("compared", left.plan, right.cls, (left, right), (right.plan, how))]


def _set_compared(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Whether one thing is longer than another, or those of a set that are."""
    made, (of, how) = [], right.more
    for step, path, sign, fits in chart.measured(right.plan, left.cls):
        for other, _ in chart.to_step(right.cls, step):
            op: Any = ">" if sign > 0 else "<"
            if isinstance(left.plan, TopicSet):
                plan = CompareNumbers(AggregateValue(left.plan, path, "max"), op, AggregateValue(of, other, how))
                made.append(chart.make("whole", plan, None, (left, right), "yes", **fits, size=1))
            elif other == path and chart.overlap(left.cls, right.cls):
                alone = -float(isinstance(left.plan, KindSet))
                larger = FilteredSet(left.plan, ComparisonWithSet(path, op, of, how))
                made.append(chart.make_set(larger, left.cls, (left, right), **fits, size=1, kind_alone=alone))
    return made


MEANT = 0.5
"""The least fit of words and the relation that two things share."""


def _same_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The same capital: by the relation that the words mean, if there is one: everything has something in common."""
    meant = {step: fit for step, fit in right.plan.items() if fit[0] >= MEANT}
    ways = {split_mediated_step(step): make_relation_word_features(fit, right) for step, fit in meant.items()}
    return [chart.make("sharing", ways, None, (left, right))] if ways else []


def _same_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The same country: by any relation to one."""
    if not isinstance(right.plan, KindSet):
        return []
    return [chart.make("sharing", {}, right.cls, (left, right), kind_alone=-1)]


def _words_sharing(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Located in the same country: by the relation that the words mean."""
    if right.plan:
        return []
    ways = {split_mediated_step(step): fits for step, fits in _meanings(chart, left, right.cls)}
    return [chart.make("sharing", ways, None, (left, right))] if ways else []


def _sharing_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The same capital as Texas."""
    ways = left.plan or {
        path: make_unmentioned_path_features(share, cost) for path, share, cost in chart.paths(right.cls, left.cls)
    }
    return [chart.make("shared", ways, right.cls, (left, right), right.plan)]


def _set_shared(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """States with the same capital as Texas: what leads where it does, without it."""
    made, other = [], right.more
    for path, fits in right.plan.items():
        if chart.leads_on(left.cls, path) and chart.leads_on(right.cls, path):
            alike = FilteredSet(left.plan, HasPathTo(path, FollowPath(other, path)))
            plan = Difference(alike, other) if isinstance(other, TopicSet) and chart.form != "yes" else alike
            rarest = min(cls.steps.get(path[0], 1.0) for cls in (left.cls, right.cls))
            own = {"share": math.log(rarest), **fits, "size": 2.0, "kind_alone": -float(isinstance(left.plan, KindSet))}
            made.append(chart.make_set(plan, left.cls, (left, right), **own))
    return made


def _words_value(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Born after 1962: a condition on the property that the words mean."""
    return [
        chart.make("condition", test, None, (left, right), step, **make_relation_word_features(fit, left))
        for step, fit in left.plan.items()
        for test in _tests(chart, right, step)
    ]


def _tests(chart: Chart, value: ChartNode, step: str, sign: int = 1) -> list[tuple[ValueComparison, ...]]:
    """Return the conditions that a value is on a property, all of which hold; none where it is no such value."""
    more: ComparedValue = value.more
    ops = {"~": (">" if sign > 0 else "<",), "between": (">=", "<=")}.get(more.op, (more.op,))
    tests = [_test(chart, each, step, op) for each, op in zip((more.first, more.last or more.first), ops, strict=False)]
    return [tuple(tests)] if all(tests) else []  # type: ignore[arg-type]


def _test(chart: Chart, value: NumberOrDate, step: str, op: Any) -> ValueComparison | None:
    if value.date and chart.is_number(step, DATES):
        return ValueComparison(split_mediated_step(step), op, date=value.date)
    if value.number is None or not chart.is_number(step, NUMBERS):
        return None
    dimension = chart.schema.dimensions.get(step, "")
    own = chart.steps.unit_of(step) if value.unit and not dimension else ""
    if own and get_unit_dimension(own) == get_unit_dimension(value.unit):  # weight_g, for 2 kg
        return ValueComparison(
            split_mediated_step(step), op, number=value.number * get_unit_size(value.unit) / get_unit_size(own)
        )
    same = dimension == (get_unit_dimension(value.unit) if value.unit else "")
    return ValueComparison(split_mediated_step(step), op, number=value.number, unit=value.unit) if same else None


def _set_value(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Films before 1984, cities larger than 1 million: a condition on a property of theirs that has such values."""
    measured = right.more.measured
    if chart.is_one(left.plan) and chart.form != "yes":
        return []
    steps = [(s, sign, fits) for s, _, sign, fits in chart.measured(measured, left.cls) if s in left.cls.steps]
    if not measured:
        steps = [(step, 1, {"condition_without_words": 1.0}) for step in left.cls.steps]
    alone = -float(isinstance(left.plan, KindSet))
    return [
        chart.make_set(
            _where(left.plan, test), left.cls, (left, right), **own, share=math.log(left.cls.steps[step]), size=1,
            kind_alone=alone,
        )
        for step, sign, own in steps
        for test in _tests(chart, right, step, sign)
    ]  # fmt: skip


def _condition_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Never reviewed films."""
    return [
        chart.make_set(node.plan, node.cls, (node,), modifier_before_its_noun=1)
        for node in _set_condition(chart, right, left)
    ]


def _set_condition(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    if chart.is_one(left.plan) and chart.form != "yes":
        return []
    if right.more is not None and right.more not in left.cls.steps:
        return []
    alone = -float(isinstance(left.plan, KindSet))
    where = _where(left.plan, right.plan if isinstance(right.plan, tuple) else (right.plan,))
    return [chart.make_set(where, left.cls, (left, right), size=1, kind_alone=alone, **_far(left))]


def _value_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """More than three rivers: a condition on how many; the two cities with the largest population."""
    number, op = left.more.whole, left.more.op
    if isinstance(right.plan, TopByValue) and right.plan.k == 1 and op == "=" and number and number <= 1_000:
        return [chart.make_set(replace(right.plan, k=number), right.cls, (left, right))]
    if number is None or op == "~" or not isinstance(right.plan, KindSet):
        return []
    return [chart.make("counted", (op, number, None), right.cls, (left, right), kind_alone=-1)]


def _value_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """More than five actors: by the relation that the words mean; or a property with such a value."""
    found, number, op = _words_value(chart, right, left), left.more.whole, left.more.op
    if number is None or op == "~":
        return found
    return found + [
        chart.make("counted", (op, number, step), None, (left, right), **make_relation_word_features(fit, right))
        for step, fit in right.plan.items()
        if step in chart.schema.ends and not chart.is_number(step)
    ]


def _words_counted(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    op, number, _ = right.plan
    return [
        chart.make("counted", (op, number, step), right.cls, (left, right), **fits)
        for step, fits in _meanings(chart, left, right.cls)
    ]


def _set_counted(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    op, number, step = right.plan
    if chart.is_one(left.plan) and chart.form != "yes":
        return []
    return [
        chart.make_set(FilteredSet(left.plan, CountComparison(path, op, number)), left.cls, (left, right), **fits)
        for path, fits in _ways(chart, left, step, right)
    ]


def _not_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    is_except = left.plan in read_plan_lexicon()["except"]["words"].split()
    return [chart.make("without", right.plan, right.cls, (left, right), is_except, negation=1)]


def _not_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    return [
        chart.make(
            "condition",
            LacksPathTo(split_mediated_step(step)),
            None,
            (left, right),
            step,
            negation=1,
            lacks_any=1,
            **make_relation_word_features(fit, right),
        )
        for step, fit in right.plan.items()
        if step in chart.schema.ends
    ]


def _not_condition(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    if not isinstance(right.plan, tuple) or len(right.plan) != 1:
        return []
    test: ValueComparison = right.plan[0]
    turned: Any = {"<": ">=", "<=": ">", "=": "!=", "!=": "=", ">=": "<", ">": "<="}[test.op]
    return [chart.make("condition", (replace(test, op=turned),), None, (left, right), right.more, negation=1)]


def _words_without(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Border no states: whose relation leads to none of them."""
    found = []
    for step, fits in _meanings(chart, left, right.cls):
        to = None if _is_all(chart, split_mediated_step(step), right.plan) else right.plan
        lacks, alone = LacksPathTo(split_mediated_step(step), to), -float(to is None)
        found.append(
            chart.make("condition", lacks, None, (left, right), step if to else None, **fits, kind_alone=alone)
        )
    return found


def _is_all(chart: Chart, path: tuple[str, ...], of: Any) -> bool:
    """Return whether a kind is that of all things that a path leads to: what leads to none of them leads nowhere."""
    ends = chart.schema.ends.get(THROUGH.join(path), NOTHING)
    return isinstance(of, KindSet) and (not ends.kinds or ends.kinds.get(of.name, 0.0) > 0.95)


def _set_without(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """States that do not …: a set without another one, or without a relation to it."""
    if isinstance(best := left.plan, TopByValue):  # what is left out is no candidate
        inner = _set_without(chart, replace(left, plan=best.of), right)
        return [replace(node, plan=replace(best, of=node.plan)) for node in inner]
    if isinstance(left.plan, TopicSet) and isinstance(right.plan, TopicSet):
        return []
    made, parts = [], (left, right)
    alone = -float(isinstance(left.plan, KindSet))
    overlap = chart.overlap(left.cls, right.cls)
    is_named = isinstance(right.plan, TopicSet)
    if is_named and isinstance(left.plan, FollowPath) and not right.more:  # border France but not Germany
        if chart.leads_on(right.cls, left.plan.path):
            other = Difference(Difference(left.plan, FollowPath(right.plan, left.plan.path)), right.plan)
            made.append(chart.make_set(other, left.cls, parts, size=1))
    elif overlap > 0 and not isinstance(right.plan, KindSet) and (right.more or not is_named):
        own = {"size": 1.0, "kind_overlap": math.log(overlap), "kind_alone": alone}
        plan = Difference(left.plan, right.plan)
        if isinstance(right.plan, FollowPath) and isinstance(right.plan.of, TopicSet):  # nothing borders itself
            plan = Difference(plan, right.plan.of)
        made.append(chart.make_set(plan, left.cls, parts, **own))
    for path, share, cost in chart.paths(left.cls, right.cls):
        to = None if len(path) == 1 and _is_all(chart, path, right.plan) else right.plan
        own = make_unmentioned_path_features(share, cost) | {"size": 1.0, "kind_alone": alone - float(to is None)}
        made.append(chart.make_set(FilteredSet(left.plan, LacksPathTo(path, to)), left.cls, parts, **own))
    return made


def _join_any(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    return [chart.make("joined", (left.plan, right), right.cls, (left, right))]


def _join_several(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    return [chart.make("several", right.plan, right.cls, (left, right))]


def _set_joined(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    how, other = right.plan
    overlap, parts = chart.overlap(left.cls, other.cls), (left, right)
    if overlap <= 0:
        return []
    if isinstance(left.plan, TopicSet) or isinstance(other.plan, TopicSet):
        if not (isinstance(left.plan, TopicSet) and isinstance(other.plan, TopicSet)):
            return []
        return [chart.make("several", (how, left.plan, other.plan), left.cls, parts, united_or_intersected=1)]
    if isinstance(left.plan, KindSet) and isinstance(other.plan, KindSet):
        return []
    plan = (Intersection if how == "and" else Union)(left.plan, other.plan)
    return [chart.make_set(plan, left.cls, parts, united_or_intersected=1, size=1, kind_overlap=math.log(overlap))]


def _key_several(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Who was born first, Ann or Bob: of both the first."""
    _, one, two = right.plan
    return _set_key(chart, ChartNode("set", TopicSet((*one.ids, *two.ids)), right.feats, right.score, right.cls), left)


def _words_several(chart: Chart, left: ChartNode, right: ChartNode, *, after: bool = False) -> list[ChartNode]:
    how, one, two = right.plan
    make = Intersection if how == "and" else Union
    return [
        chart.make_set(
            make(FollowPath(one, split_mediated_step(step)), FollowPath(two, split_mediated_step(step))),
            chart.schema.ends[step], (left, right),
            **make_relation_word_features(fit, left), relation_after_its_topic=float(after), size=2,
        )
        for step, fit in left.plan.items()
        if right.cls.steps.get(step) and step in chart.schema.ends
    ]  # fmt: skip


def _set_several(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    how, one, two = right.plan
    made, alone = [], -float(isinstance(left.plan, KindSet))
    for path, share, cost in chart.paths(left.cls, right.cls):
        plan = FilteredSet(left.plan, HasPathTo(path, Union(one, two)))
        if how == "and":
            plan = FilteredSet(FilteredSet(left.plan, HasPathTo(path, one)), HasPathTo(path, two))
        made.append(
            chart.make_set(
                plan, left.cls, (left, right), size=2, kind_alone=alone, **make_unmentioned_path_features(share, cost)
            )
        )
    return made


def _measure_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """How long is …: the value of a property that fits the adjective."""
    return [
        chart.make_set(FollowPath(right.plan, path), chart.schema.ends[step], (left, right), **fits, size=1)
        for step, path, _, fits in chart.measured(left.plan, right.cls)
    ]


def _total_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The average salary of employees; the average river, of whatever it is compared by."""
    if isinstance(right.plan, KindSet):
        return [chart.make("averaged", right.plan, right.cls, (left, right), _how(left.plan), kind_alone=-1)]
    if not (isinstance(right.plan, FollowPath) and right.cls.value in NUMBERS):
        return []
    plan = AggregateValue(right.plan.of, right.plan.path, _how(left.plan))
    of = chart.schema.of_kind.get(right.plan.of.name) if isinstance(right.plan.of, KindSet) else None
    return [chart.make("whole", plan, of, (left, right))]


def _total_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The average salary: of all that have one."""
    how = _how(left.plan)
    return [
        chart.make(
            "whole",
            AggregateValue(KindSet(name_end_kind(step)), (step,), how),
            of,
            (left, right),
            **make_relation_word_features(fit, right),
        )
        for step, fit in right.plan.items()
        if chart.is_number(step, NUMBERS) and (of := chart.schema.ends.get(f"^{step}"))
    ]


def _per_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Each country, where that is no kind: by the relation that the words mean."""
    return [
        chart.make("group", step, None, (left, right), **make_relation_word_features(fit, right))
        for step, fit in right.plan.items()
    ]


def _per_set(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    if not isinstance(right.plan, KindSet):
        return []
    return [chart.make("group", None, right.cls, (left, right), kind_alone=-1)]


def _group_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """Each person directed: by the relation that the words mean."""
    return [
        chart.make("group", step, left.cls, (left, right), **fits) for step, fits in _meanings(chart, right, left.cls)
    ]


def _set_group(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """How many employees per department."""
    if chart.form != "count" or isinstance(left.plan, TopicSet):
        return []
    return [
        chart.make("whole", RankGroups(left.plan, path), None, (left, right), **fits | {"size": 1.0})
        for path, fits in _ways(chart, left, right.plan, right)
    ]


def _whole_group(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    """The average salary per department."""
    total, parts = left.plan, (left, right)
    if not isinstance(total, AggregateValue) or total.how not in ("sum", "mean"):
        return []
    return [
        chart.make(
            "whole",
            RankGroups(total.of, path, total.how, total.path),
            None,
            parts,
            **make_unmentioned_path_features(share, cost),
            size=1,
        )
        for path, share, cost in chart.paths(left.cls, right.cls)
    ]


def _meanings(chart: Chart, words: ChartNode, cls: SetDistributions) -> list[tuple[str, dict[str, float]]]:
    """Return the steps that words mean and that lead to things of a class, with their features."""
    return [
        (step, make_relation_word_features(fit, words))
        for step, fit in words.plan.items()
        if step in chart.schema.ends and chart.overlap(chart.schema.ends[step], cls) > 0.05
    ]


def _ways(
    chart: Chart, left: ChartNode, step: str | None, right: ChartNode
) -> list[tuple[tuple[str, ...], dict[str, float]]]:
    """Return the paths from one set to things of another, by a step that is known or any, with their features."""
    if step:
        found = [(split_mediated_step(step), {"size": 1.0})]
    else:
        found = [
            (path, make_unmentioned_path_features(share, cost))
            for path, share, cost in chart.paths(left.cls, right.cls)
        ]
    return [(path, fits) for path, fits in found if chart.leads_on(left.cls, path)]


def _far(node: ChartNode) -> dict[str, float]:
    return {"attached_far": float(not isinstance(node.plan, KindSet | TopicSet))}


def _where(of: Any, tests: Sequence[Any]) -> Any:
    for test in tests:
        of = FilteredSet(of, test)
    return of


def _how(word: str) -> Any:
    return "mean" if word in ("average", "mean") else "sum"


def _set_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    return _words_set(chart, right, left, after=True)


def _set_superlative(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    return _superlative_set(chart, right, left, after=True)


def _several_words(chart: Chart, left: ChartNode, right: ChartNode) -> list[ChartNode]:
    return _words_several(chart, right, left, after=True)


_IN_ORDER: dict[tuple[str, str], Rule] = {
    ("words", "set"): _words_set, ("set", "words"): _set_words, ("words", "key"): _words_key,
    ("words", "counted"): _words_counted, ("words", "without"): _words_without, ("words", "several"): _words_several,
    ("set", "set"): _set_set, ("set", "superlative"): _set_superlative, ("set", "key"): _set_key,
    ("key", "set"): _key_set, ("set", "value"): _set_value, ("value", "set"): _value_set,
    ("set", "counted"): _set_counted, ("set", "without"): _set_without, ("set", "joined"): _set_joined,
    ("set", "several"): _set_several, ("set", "compared"): _set_compared, ("superlative", "set"): _superlative_set,
    ("several", "words"): _several_words, ("ordinal", "superlative"): _ordinal_superlative,
    ("peak", "set"): _peak_set, ("ranked", "words"): _ranked_words, ("comparing", "set"): _comparing_set,
    ("comparing", "averaged"): _comparing_set, ("not", "set"): _not_set, ("not", "words"): _not_words,
    ("not", "condition"): _not_condition, ("set", "condition"): _set_condition, ("condition", "set"): _condition_set,
    ("join", "set"): _join_any, ("join", "several"): _join_several, ("measure", "set"): _measure_set,
    ("total", "set"): _total_set, ("total", "words"): _total_words, ("per", "set"): _per_set,
    ("per", "words"): _per_words, ("same", "words"): _same_words, ("same", "set"): _same_set,
    ("words", "sharing"): _words_sharing, ("sharing", "set"): _sharing_set, ("set", "shared"): _set_shared,
    ("value", "words"): _value_words, ("words", "value"): _words_value,
}  # fmt: skip
_EITHER_WAY: dict[tuple[str, str], Rule] = {
    ("superlative", "words"): _superlative_words, ("superlative", "several"): _superlative_several,
    ("value", "superlative"): _value_superlative, ("key", "several"): _key_several, ("group", "words"): _group_words,
    ("set", "group"): _set_group, ("whole", "group"): _whole_group,
}  # fmt: skip


def _turned(rule: Rule) -> Rule:
    return lambda chart, left, right: rule(chart, right, left)


RULES: dict[str, dict[str, Rule]] = {}
"""The rules by the kinds of the left part and the right one."""
for (_left, _right), _rule in _IN_ORDER.items():
    RULES.setdefault(_left, {})[_right] = _rule
for (_left, _right), _rule in _EITHER_WAY.items():
    RULES.setdefault(_left, {})[_right] = _rule
    RULES.setdefault(_right, {})[_left] = _turned(_rule)
