"""Hold the parts of plans that a question's words may mean, by their places, and how things of its graph are joined."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...models.wording import AUXILIARIES
from ..data_model import Topic
from ..linking.entity_linker import find_dates
from .plan import (
    FollowPath,
    TopicSet,
)
from .schema import DATES, NUMBERS, GraphSchema, SetDistributions, reverse_step, split_mediated_step
from .words import StepWordMatcher, Token, tokenise

FEATURES: tuple[str, ...] = (
    "relation_words",  # how well the words of each relation fit it, summed
    "relation_words_off",  # what each lacks to a perfect fit
    "relation_unsaid",  # the share of the relation's own words that the question lacks
    "kind_read_as_relation",
    "end_of_a_relation",
    "relation_without_words",
    "two_relations_without_words",
    "relation_after_its_topic",
    "share",  # logarithm of the share of things that have the relation
    "kind_agrees",
    "kind_as_filter",
    "kind_alone",
    "kind_by_noun",  # a noun for a person, a place, … that names no kind
    "kind_overlap",  # logarithm
    "modifier_before_its_noun",
    "several_things_modified",
    "superlative_fits",  # how well its property fits the adjective
    "superlative_by_count",
    "superlative_after_its_noun",
    "one_where_several",  # a plural, a superlative or a number of what is one thing
    "whose_superlative",  # what has the highest salary, where that is named first
    "attached_far",  # what follows a noun says something of more than that noun
    "property_two_steps_away",
    "condition_without_words",
    "negation",
    "lacks_any",
    "united_or_intersected",
    "word_left_out",
    "modifier_left_out",  # "major" of "major cities"
    "kind_left_out",
    "topic_left_out",
    "operator_left_out",
    "topic_uncertain",  # logarithm of its probability
    "counts",
    "gives_a_number_where_asked_how_many",
    "wanted_kind",
    "not_wanted_kind",
    "first_noun_agrees",
    "first_noun_is_another",
    "size",
    "gives_nothing",  # set when the plan was executed
)
Feats = tuple[tuple[Any, ...], tuple[tuple[str, float], ...]]
"""The features of parts, and one's own."""


@dataclass(slots=True, eq=False)
class ChartNode:
    """A part of a plan over some words. kind: what it is (set, words, superlative, …)."""

    kind: str
    plan: Any
    feats: Feats
    score: float
    cls: SetDistributions = field(default_factory=SetDistributions)
    more: Any = None


@dataclass(frozen=True, slots=True)
class NumberOrDate:
    """A number with its unit, a date, or a year, which may be both."""

    number: float | None
    date: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """What a value is compared with; `last` with "between". measured: the properties that an adjective compares by."""

    first: NumberOrDate
    op: str
    measured: str = ""
    last: NumberOrDate | None = None

    @property
    def whole(self) -> int | None:
        """The number that it is, where that counts things."""
        number = self.first.number
        return int(number) if number is not None and number == int(number) and self.last is None else None


def is_single_topic_set(plan: Any) -> bool:
    """Return whether a plan is one thing that the question names."""
    return isinstance(plan, TopicSet) and len(plan.ids) == 1


LEFT = "operator_left_out"
NOTHING = SetDistributions()
SEVERAL = SetDistributions()
"""Of words in the plural."""
WITHIN = ("located", "contained", "within")
"""Words for what holds or contains something."""
_POLITE = re.compile(r"(?:(?:can|could|would|will) you |please |tell me |do you know )+(?=\w)", re.I)


def _move_negations(tokens: list[Token], names: Sequence[str]) -> list[Token]:
    """Return the words with a "not" behind its subject before it: "does Peru not border" as "does not Peru border"."""
    moved = list(tokens)
    for name in dict.fromkeys(tuple(token.text for token in tokenise(each)) for each in names):
        for at in range(2, len(moved) - len(name)):
            after = at + len(name)
            before, *said, last = (token.text for token in moved[at - 1 : after + 1])
            if before in AUXILIARIES and tuple(said) == name and last in ("not", "never"):
                moved.insert(at, moved.pop(after))
    return moved


class Chart:
    """A question over a graph: its words, and the parts of plans over them."""

    def __init__(
        self,
        schema: GraphSchema,
        steps: StepWordMatcher,
        weights: Mapping[str, float],
        text: str,
        topics: Sequence[Topic],
        kinds_of: Mapping[str, Sequence[str]],
    ) -> None:
        self.schema, self.steps, self.weights = schema, steps, weights
        self.text = text[found.end() :] if (found := _POLITE.match(text)) else text
        self.tokens = _move_negations(tokenise(self.text), [topic.mention for topic in topics if topic.mention])
        self.words = [token.text for token in self.tokens]
        self.said = [self.text[token.start : token.end] for token in self.tokens]
        self.dates = {start: (iso, end) for start, end, iso in find_dates(self.text)}
        self.items: dict[tuple[int, int], list[ChartNode]] = {}
        self.cost: dict[int, tuple[str, float]] = {}
        """Of leaving out a word: the feature, and its value."""
        self.topics, self.kinds_of = topics, kinds_of
        self.form, self.begin = "plain", 0
        """What is asked for (count, yes, where, who, when, measure, or plain), and the first word after that."""
        self.operators: dict[int, str] = {}
        self.particles: dict[int, str] = {}
        """By the place of an operator word, and of the word that has the particle."""
        self.compounds: set[int] = set()
        """The places of kinds that say what another kind is of: "product categories" are categories."""
        self.exact: set[int] = set()
        """The places of names that are said as the graph has them."""
        self.places: list[int] = []
        """Of the words that mean something."""
        self.overlaps: dict[tuple[int, int], tuple[Any, ...]] = {}
        self.known_paths: dict[tuple[int, int], tuple[Any, ...]] = {}
        """Overlaps and paths of two classes, with the classes."""

    def make(
        self,
        kind: str,
        plan: Any,
        cls: SetDistributions | None = None,
        parts: Sequence[ChartNode] = (),
        more: Any = None,
        **own: float,
    ) -> ChartNode:
        score = 0.0
        for part in parts:
            score += part.score
        for name, value in own.items():
            score += self.weights[name] * value
        feats = (tuple([part.feats for part in parts]), tuple(own.items()))
        return ChartNode(kind, plan, feats, score, cls or NOTHING, more)

    def make_set(
        self, plan: Any, cls: SetDistributions, parts: Sequence[ChartNode], more: Any = None, **own: float
    ) -> ChartNode:
        return self.make("set", plan, cls, parts, more, **own)

    def add(self, start: int, end: int, *nodes: ChartNode, cost: str = "", value: float = 1.0) -> None:
        """Add what some words mean; cost: of leaving them out."""
        self.items.setdefault((start, end), []).extend(nodes)
        if cost:
            self.cost |= {at: (cost, value if at == start else 0.0) for at in range(start, end)}

    def leave_out(self, node: ChartNode, place: int) -> ChartNode:
        name, value = self.cost.get(self.places[place], ("word_left_out", 1.0))
        if not value:
            return node
        score = node.score + value * self.weights[name]
        return ChartNode(node.kind, node.plan, ((node.feats,), ((name, value),)), score, node.cls, node.more)

    def paths(self, one: SetDistributions, two: SetDistributions) -> list[tuple[tuple[str, ...], float, str]]:
        """Return paths that lead from one class to things of another, with the logarithm of their share."""
        known = self.known_paths.get((id(one), id(two)))
        if known is None:
            known = self.known_paths[id(one), id(two)] = (one, two, self._find_paths(one, two))
        return known[2]  # type: ignore[no-any-return]

    def _find_paths(self, one: SetDistributions, two: SetDistributions) -> list[tuple[tuple[str, ...], float, str]]:
        found = []
        for step, share in one.steps.items():
            end = self.schema.ends.get(step)
            if end is not None and (back_share := two.steps.get(reverse_step(step), 0.0)):
                fit = 1.0 if two.value else self.overlap(end, two)
                if fit > 0.05:
                    found.append(
                        (split_mediated_step(step), math.log(share * fit * back_share), "relation_without_words")
                    )
        lasts = [last for last in map(reverse_step, two.steps) if last in self.schema.ends] if not found else []
        for first, share in one.steps.items() if lasts else ():
            middle = self.schema.ends.get(first, NOTHING).steps
            for last in lasts:
                if last in middle and last != reverse_step(first):
                    fit = 1.0 if two.value else self.overlap(self.schema.ends[last], two)
                    if fit > 0.3:
                        path = (*split_mediated_step(first), *split_mediated_step(last))
                        found.append((path, math.log(share * middle[last] * fit), "two_relations_without_words"))
        return sorted(found, key=lambda each: -each[1])[:4]

    def leads_on(self, cls: SetDistributions, path: Sequence[str]) -> bool:
        return any(split_mediated_step(step)[0] == path[0] for step in cls.steps)

    def overlap(self, one: SetDistributions, two: SetDistributions) -> float:
        """Return how far the things of two classes may be the same, 0 to 1: by their kinds, else by their relations."""
        if one.value or two.value:
            return float(bool(one.value) and one.value == two.value)
        known = self.overlaps.get((id(one), id(two)))
        if known is None:
            found = (
                compute_distribution_overlap(one.kinds, two.kinds)
                if one.kinds and two.kinds
                else compute_distribution_overlap(one.steps, two.steps)
            )
            known = self.overlaps[id(one), id(two)] = (one, two, found)
        return known[2]  # type: ignore[no-any-return]

    def is_number(self, step: str, kinds: Sequence[str] = (*NUMBERS, *DATES)) -> bool:
        end = self.schema.ends.get(step)
        return end is not None and end.value in kinds

    def is_one(self, plan: Any) -> bool:
        """Return whether a plan is one thing: a topic, or what a relation that leads to one leads to from there."""
        if isinstance(plan, FollowPath):
            return self.is_one(plan.of) and all(step in self.schema.to_one for step in plan.path)
        return is_single_topic_set(plan)

    def measured(
        self, measured: str, cls: SetDistributions
    ) -> list[tuple[str, tuple[str, ...], int, dict[str, float]]]:
        """Return properties of a class that fit an adjective: the step, its path, its sign, features."""
        return [
            (step, path, sign, {"superlative_fits": fit, "property_two_steps_away": float(is_far)})
            for step, (fit, sign) in self.steps.match_measure(measured).items()
            if self.is_number(step)
            for path, is_far in self.to_step(cls, step)
        ]

    def to_step(self, cls: SetDistributions, step: str) -> list[tuple[tuple[str, ...], bool]]:
        if step in cls.steps or (step not in self.schema.ends and split_mediated_step(step)[0] in cls.steps):
            return [(split_mediated_step(step), False)]
        if cls.value or step not in self.schema.ends:
            return []
        return [
            ((*split_mediated_step(first), *split_mediated_step(step)), True)
            for first in cls.steps
            if (end := self.schema.ends.get(first)) and end.steps.get(step, 0.0) > 0.5 and not first.startswith("^")
        ][:3]


def compute_distribution_overlap(one: Mapping[str, float], two: Mapping[str, float]) -> float:
    """Return how far two sets of shares have the same members, 0 to 1."""
    common = sum(min(share, two[name]) for name, share in one.items() if name in two)
    return common / max(1e-9, sum(one.values()), sum(two.values()))


def make_relation_word_features(fit: tuple[float, float], words: ChartNode) -> dict[str, float]:
    """Return the features of words that fit a relation so far."""
    size = float(words.more or 1)
    return {"relation_words": fit[0] * size, "relation_words_off": (1 - fit[0]) * size, "relation_unsaid": fit[1]}


def make_unmentioned_path_features(share: float, cost: str) -> dict[str, float]:
    """Return the features of a path that no words mean."""
    return {"share": share, cost: share if cost == "share" else 1.0}
