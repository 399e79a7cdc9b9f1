"""Find plans for a question without a model: a chart parser whose relations need no words of their own.

A floating parser (Pasupat and Liang 2015, section 4) over the question's words: kinds, topics, values and operators are
items with a span; a relation is proposed by words that nothing else used, or by none where only it can join two sets.
Neighbouring items combine by the algebra's types, a word may be left out at a cost, and a cell of the chart keeps its
best. A plan's score is log-linear over `FEATURES`; the weights are learned from questions with answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...models.word_positions import read_asked_words
from ...models.wording import singularise
from ...models.wording.answer_kinds import classify_noun
from ..data_model import Topic
from .chart import FEATURES, LEFT, NOTHING, Chart, ChartNode, Feats, is_single_topic_set
from .chart_items import fill_chart
from .chart_rules import RULES
from .compile import reverse_path
from .plan import (
    CountMembers,
    FilteredSet,
    FindMembers,
    FollowPath,
    HasMembers,
    HasPathTo,
    Intersection,
    KindSet,
    Plan,
    TopByValue,
    TopicSet,
    is_plan_within_bounds,
    iterate_parts,
)
from .schema import (
    DATES,
    NUMBERS,
    THROUGH,
    GraphSchema,
    SetDistributions,
    name_end_kind,
    reverse_step,
    split_mediated_step,
)
from .words import StepWordMatcher

MAX_WORDS = 14
"""Items of a longer question are not combined: it has too many."""
KEPT = 8
"""Of each category that a cell keeps."""
MOST = 0.5
"""Of the things in a set those that are of a kind, for the set to be of that kind."""
BEHIND = 8.0
"""What scores so much less than the best of its category is not kept."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan with its features by name, and score. leaves_operator: whether it leaves out an operator word, or gives an
    amount where things are asked for; unread: the words before nouns that it leaves out ("major" of "major cities")."""

    plan: Plan
    feats: Mapping[str, float]
    score: float
    leaves_operator: bool
    unread: tuple[str, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Whether it gives another kind of thing than is asked for, or leaves out a name or a kind."""
        return any(self.feats.get(name, 0.0) > 0.5 for name in _DOUBTFUL)


@dataclass(slots=True)
class Planner:
    """Finds the likeliest plans for questions over one graph."""

    schema: GraphSchema
    steps: StepWordMatcher
    weights: Mapping[str, float]

    def plan(self, text: str, topics: Sequence[Topic], kinds_of: Mapping[str, Sequence[str]]) -> list[Candidate]:
        """Return plans for a question, best first. kinds_of: the names of the kinds of each topic, by id."""
        chart = Chart(self.schema, self.steps, self.weights, text, topics, kinds_of)
        fill_chart(chart)
        return _parse(chart)


def _parse(chart: Chart) -> list[Candidate]:
    places = sorted({at for span in chart.items for at in range(*span)} | set(chart.cost))
    if not places or len(places) > MAX_WORDS:
        return []
    chart.places = places
    index = {at: place for place, at in enumerate(places)}
    starts: dict[tuple[int, int], list[ChartNode]] = {}
    for (start, end), nodes in chart.items.items():
        starts.setdefault((index[start], index[end - 1] + 1), []).extend(nodes)
    cells: dict[tuple[int, int], dict[str, list[ChartNode]]] = {}
    for length in range(1, len(places) + 1):
        for i in range(len(places) - length + 1):
            j = i + length
            nodes = list(starts.get((i, j), ()))
            if length > 1:
                nodes += [chart.leave_out(node, j - 1) for some in cells[i, j - 1].values() for node in some]
                nodes += [chart.leave_out(node, i) for some in cells[i + 1, j].values() for node in some]
                best = max((node.score for node in nodes if node.kind == "set"), default=-math.inf)
                for k in range(i + 1, j):
                    nodes += _combine(chart, cells[i, k], cells[k, j], best - BEHIND)
            cells[i, j] = _keep(nodes)
    return _finish(chart, cells[0, len(places)])


def _find_first_noun(chart: Chart) -> tuple[frozenset[str], bool]:
    """Return the kinds of what a question begins with, but for a superlative: it should be what is given; and whether
    that is said in the plural. Where no kind is named, they are those of what a relation of that name leads to."""
    for at in chart.places:
        nodes = [node for (start, _), some in chart.items.items() if start == at for node in some]
        kinds = [node.more for node in nodes if isinstance(node.plan, KindSet) and node.more in chart.schema.of_kind]
        is_plural = singularise(chart.words[at]) != chart.words[at]
        if kinds and at in chart.compounds:
            continue
        if kinds:
            return frozenset(kinds[:1]), is_plural
        if (
            is_plural
            and chart.form == "plain"
            and (ends := [node.cls.kinds for node in nodes if node.kind == "set" and node.cls.kinds])
        ):
            return frozenset(kind for some in ends for kind, share in some.items() if share > MOST), True
        if not any(node.kind in ("superlative", "ordinal", "value") for node in nodes):
            break
    return frozenset(), False


def _combine(
    chart: Chart, lefts: Mapping[str, list[ChartNode]], rights: Mapping[str, list[ChartNode]], least: float
) -> list[ChartNode]:
    """Return what nodes of two neighbouring cells may make. Worse ones of a category meet only better ones, and none
    whose scores are too low together."""
    return [
        node
        for kind, some in lefts.items()
        for other, rule in RULES.get(kind, {}).items()
        for at, right in enumerate(rights.get(other, ()))
        for left in some[: KEPT // (at + 1)]
        if left.score + right.score > least
        for node in rule(chart, left, right)
    ]


def _finish(chart: Chart, cell: Mapping[str, Sequence[ChartNode]]) -> list[Candidate]:
    first_noun, is_plural = _find_first_noun(chart)
    asks_for_things = bool(first_noun) and is_plural and chart.form == "plain"
    made: dict[Any, Candidate] = {}
    modifiers = tuple(chart.said[at] for at, (name, _) in sorted(chart.cost.items()) if name == "modifier_left_out")
    for node in (*cell.get("set", ()), *cell.get("whole", ()), *_add_who(chart, cell)):
        is_amount = node.cls.value in (*NUMBERS, *DATES) and (chart.form in ("who", "where") or asks_for_things)
        agrees = 0.5
        if first_noun and node.kind == "set":
            agrees = max(node.cls.kinds.get(kind, 0.0) for kind in first_noun)
        first = {"first_noun_agrees": float(agrees > 0.5), "first_noun_is_another": float(agrees < 0.5)}
        for whole, of_whole in _wholes(chart, node):
            plan = replace(whole, of=_ask_each(whole.of, chart.schema.to_one)) if hasattr(whole, "of") else whole
            own = of_whole | first if chart.form in ("plain", "count") else of_whole
            score = node.score + sum(chart.weights[name] * value for name, value in own.items())
            if plan not in made or made[plan].score < score:
                feats = dict.fromkeys(FEATURES, 0.0)
                _add_up(node.feats, feats)
                for name, value in own.items():
                    feats[name] += value
                asks_less = isinstance(plan, HasMembers) and any(feats[name] >= 0.5 for name in _LEFT_OUT)
                if not asks_less and is_plan_within_bounds(plan) and not _is_turned(chart, plan):
                    unread = modifiers if feats["modifier_left_out"] else ()
                    made[plan] = Candidate(plan, feats, score, feats[LEFT] > 0 or is_amount, unread)
    return sorted(made.values(), key=lambda each: -each.score)


def _ask_each(of: Any, to_one: frozenset[str]) -> Any:
    """Return a set in which what two things share is what they lead to, where nothing has both: of wines that Ann and
    Ben tasted the wine of a tasting of Ann's and of one of Ben's, for a tasting has one taster."""
    match of:
        case FollowPath(Intersection(FollowPath(_, one) as left, FollowPath(_, other) as right), path) if one == other:
            apart: Any = Intersection(FollowPath(left, path), FollowPath(right, path))
        case FilteredSet(
            things, HasPathTo(path, Intersection(FollowPath(_, one) as left, FollowPath(_, other) as right))
        ) if one == other:
            apart = FilteredSet(FilteredSet(things, HasPathTo(path, left)), HasPathTo(path, right))
        case _:
            return of
    return apart if THROUGH.join(reverse_path(one)) in to_one else of


def _is_turned(chart: Chart, plan: Plan) -> bool:
    """Whether a plan leads from a named thing to what it owns where its owner is asked for, or the other way round."""
    for part in iterate_parts(plan):
        match part:
            case FollowPath(TopicSet(ids), path):
                step = path[0]
            case HasPathTo(path, TopicSet(ids)):
                step = reverse_path(path)[0]
            case _:
                continue
        name, inverse = step.removeprefix("^"), step.startswith("^")
        asked = (read_asked_words(chart.text, each.mention) for each in chart.topics if each.entity.id in ids)
        words, alike = chart.steps.texts[name][0], name in chart.steps.alike
        if any(each.is_turned(words, inverse=inverse, alike=alike) for each in asked):
            return True
    return False


def _add_who(chart: Chart, cell: Mapping[str, Sequence[ChartNode]]) -> list[ChartNode]:
    """Return what is said of people that no word names: who acted in the most films, who reviewed more than one."""
    if chart.form != "who":
        return []
    found = []
    for kind, step_of in _SAID_OF.items():
        for node in cell.get(kind, ()):
            step = step_of(node)
            if step and not step.startswith("^") and (cls := chart.schema.ends.get(reverse_step(step))):
                who = chart.make_set(KindSet(name_end_kind(split_mediated_step(step)[0])), cls, ())
                found += RULES["set"][kind](chart, who, node)
    return found


_SAID_OF: Mapping[str, Callable[[ChartNode], str | None]] = {
    "key": lambda node: node.plan[1], "counted": lambda node: node.plan[2], "condition": lambda node: node.more,
}  # fmt: skip
"""The parts that need a set, and the relation that it has."""


def _find_places(chart: Chart, cls: SetDistributions) -> list[str]:
    """Return the steps to where things are: those to places within others before those to the others."""
    places = chart.schema.places
    within = []
    for step in cls.steps:
        end, noun = chart.schema.ends.get(step, NOTHING), classify_noun(step.split(".")[-1])
        is_place = step in places or (noun == "" and not step.startswith("^") and step not in end.steps)
        if is_place and places.intersection(end.steps):
            within.append(step)
    return within or [step for step in cls.steps if step in places]


def _wholes(chart: Chart, node: ChartNode) -> list[tuple[Any, dict[str, float]]]:
    """Return the plans that a node is as a whole, with the features of being that."""
    plan, cls = node.plan, node.cls
    if node.kind == "whole":
        return [(plan, {})] if node.more != "yes" or chart.form == "yes" else []
    if isinstance(plan, TopicSet) and chart.form != "where":
        return []
    if isinstance(plan, TopByValue) and is_single_topic_set(plan.of):
        return []  # one thing that the question names is the most of nothing
    is_number, is_date = cls.value in NUMBERS, cls.value in DATES
    found: list[tuple[Any, dict[str, float]]] = []
    if chart.form == "count":
        found.append(
            (FindMembers(plan), {"gives_a_number_where_asked_how_many": 1.0})
            if is_number
            else (CountMembers(plan), {"counts": 1.0, "one_where_several": float(chart.is_one(plan))})
        )
    elif chart.form == "yes":
        found.append((HasMembers(plan), {}))
    elif chart.form in ("where", "who"):
        if not isinstance(plan, TopicSet):
            found.append((FindMembers(plan), {"not_wanted_kind": float(bool(cls.value))}))
        for step in _find_places(chart, cls) if chart.form == "where" else ():
            own = {"wanted_kind": 1.0, "relation_without_words": 1.0, "share": math.log(cls.steps[step])}
            found.append((FindMembers(FollowPath(plan, split_mediated_step(step))), own))
    elif chart.form in ("when", "measure"):
        is_wanted = is_date if chart.form == "when" else is_number
        found.append((FindMembers(plan), {"wanted_kind": float(is_wanted), "not_wanted_kind": float(not is_wanted)}))
    else:
        found.append((FindMembers(plan), {}))
    return found


_DOUBTFUL = ("first_noun_is_another", "not_wanted_kind", "topic_left_out", "kind_left_out")
"""What most plans that are right lack."""
_LEFT_OUT = ("word_left_out", "modifier_left_out", "kind_left_out", "topic_left_out")
"""With one of these whether something is so was not asked of all that is said."""


def _keep(nodes: Sequence[ChartNode]) -> dict[str, list[ChartNode]]:
    """Return the best nodes of each category, each plan once."""
    kept: dict[str, list[ChartNode]] = {}
    seen: set[Any] = set()
    for node in sorted(nodes, key=lambda each: -each.score):
        some = kept.setdefault(node.kind, [])
        if len(some) < KEPT and (not some or node.score > some[0].score - BEHIND):
            plan = id(node.plan) if isinstance(node.plan, dict) else node.plan
            key = (node.kind, plan, None if node.kind == "set" else node.more)
            if key not in seen:
                seen.add(key)
                some.append(node)
    return kept


def _add_up(feats: Feats, total: dict[str, float]) -> None:
    parts, own = feats
    for part in parts:
        _add_up(part, total)
    for name, value in own:
        total[name] += value
