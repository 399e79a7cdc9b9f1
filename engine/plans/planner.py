"""Find plans for a question without a model: a chart parser whose relations need no words of their own.

A floating parser (Pasupat and Liang 2015, section 4) over the question's words: kinds, topics, values and operators are
items with a span; a relation is proposed by words that nothing else used, or by none where only it can join two sets.
Neighbouring items combine by the algebra's types, a word may be left out at a cost, and a cell of the chart keeps its
best. A plan's score is log-linear over `FEATURES`; the weights are learned from questions with answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...models.wording import FUNCTION_WORDS, STOP_WORDS, fold, singular
from ...models.wording.kinds import noun_kind
from ...models.wording.operators import find_operators
from ..values import Topic
from .plan import (
    Best,
    Both,
    Compare,
    Count,
    CountOf,
    Either,
    Exists,
    Find,
    Follow,
    Has,
    Is,
    Kind,
    Lacks,
    Plan,
    Rank,
    Topics,
    Total,
    Where,
    Without,
    is_within_bounds,
)
from .schema import DATES, NUMBERS, THROUGH, GraphSchema, SetClass, back, end_kind, kind_name, path_of
from .words import StepWords, dimension_of, lexicon, tokenise

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
MAX_WORDS = 14
"""Items of a longer question are not combined: it has too many."""
KEPT = 8
"""Of each category that a cell keeps."""
BEHIND = 8.0
"""What scores so much less than the best of its category is not kept."""
CANDIDATES = 6
"""Relations that words propose."""
_NUMBER = re.compile(r"[€$£]?(\d[\d,]*(?:\.\d+)?)(k|m|bn|%)?$", re.I)
_TIMES = {"k": 1e3, "m": 1e6, "bn": 1e9, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_YEAR = re.compile(r"(1\d|20)\d\d")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")
_POLITE = re.compile(r"(?:(?:can|could|would|will) you |please |tell me |do you know )+(?=\w)", re.I)

Feats = tuple[tuple[Any, ...], tuple[tuple[str, float], ...]]
"""The features of parts, and one's own."""


@dataclass(slots=True, eq=False)
class Node:
    """A part of a plan over some words. kind: what it is (set, words, superlative, …)."""

    kind: str
    plan: Any
    feats: Feats
    score: float
    cls: SetClass = field(default_factory=SetClass)
    more: Any = None


@dataclass(frozen=True, slots=True)
class _Number:
    """A number with its unit, a date, or a year, which may be both."""

    number: float | None
    date: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class _Value:
    """What a value is compared with; `last` with "between". measured: the properties that an adjective compares by."""

    first: _Number
    op: str
    measured: str = ""
    last: _Number | None = None

    @property
    def whole(self) -> int | None:
        """The number that it is, where that counts things."""
        number = self.first.number
        return int(number) if number is not None and number == int(number) and self.last is None else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan with its features by name, and score. leaves_operator: whether it leaves out an operator word; unread: the
    words before nouns that it leaves out ("major" of "major cities")."""

    plan: Plan
    feats: Mapping[str, float]
    score: float
    leaves_operator: bool
    unread: tuple[str, ...] = ()


class Planner:
    """Finds the likeliest plans for questions over one graph."""

    def __init__(self, schema: GraphSchema, steps: StepWords, weights: Mapping[str, float]) -> None:
        self.schema = schema
        self.steps = steps
        self.weights = weights

    def plan(self, text: str, topics: Sequence[Topic], kinds_of: Mapping[str, Sequence[str]]) -> list[Candidate]:
        """Return plans for a question, best first. kinds_of: the names of the kinds of each topic, by id."""
        return _Chart(self, text, topics, kinds_of).read()


class _Chart:
    def __init__(
        self, planner: Planner, text: str, topics: Sequence[Topic], kinds_of: Mapping[str, Sequence[str]]
    ) -> None:
        self.schema, self.steps, self.weights = planner.schema, planner.steps, planner.weights
        self.text = text[found.end() :] if (found := _POLITE.match(text)) else text
        self.tokens = tokenise(self.text)
        self.words = [token.text for token in self.tokens]
        self.said = [self.text[token.start : token.end] for token in self.tokens]
        self.items: dict[tuple[int, int], list[Node]] = {}
        self.cost: dict[int, tuple[str, float]] = {}
        """Of leaving out a word: the feature, and its value."""
        self.topics, self.kinds_of = topics, kinds_of
        self.known: dict[tuple[int, int], tuple[Any, ...]] = {}
        self.paths: dict[tuple[int, int], tuple[Any, ...]] = {}
        """Overlaps and paths of two classes, with the classes."""

    def read(self) -> list[Candidate]:
        """Return plans, best first."""
        self.form, self.begin = self._find_form()
        self.topics = self._drop_half_named(self.topics)
        self.operators = self._find_operators()
        self._find_items()
        places = sorted({at for span in self.items for at in range(*span)} | set(self.cost))
        if not places or len(places) > MAX_WORDS:
            return []
        self.places = places
        self.first_noun = self._find_first_noun()
        index = {at: place for place, at in enumerate(places)}
        starts: dict[tuple[int, int], list[Node]] = {}
        for (start, end), nodes in self.items.items():
            starts.setdefault((index[start], index[end - 1] + 1), []).extend(nodes)
        cells: dict[tuple[int, int], dict[str, list[Node]]] = {}
        for length in range(1, len(places) + 1):
            for i in range(len(places) - length + 1):
                j = i + length
                nodes = list(starts.get((i, j), ()))
                if length > 1:
                    nodes += [self._leave_out(node, j - 1) for some in cells[i, j - 1].values() for node in some]
                    nodes += [self._leave_out(node, i) for some in cells[i + 1, j].values() for node in some]
                    best = max((node.score for node in nodes if node.kind == "set"), default=-math.inf)
                    for k in range(i + 1, j):
                        nodes += self._combine(cells[i, k], cells[k, j], best - BEHIND)
                cells[i, j] = _keep(nodes)
        return self._finish(cells[0, len(places)])

    def _combine(self, lefts: Mapping[str, list[Node]], rights: Mapping[str, list[Node]], least: float) -> list[Node]:
        """Return what nodes of two neighbouring cells may make; worse ones of a category meet only better ones, and none
        whose scores are too low together."""
        return [
            node
            for kind, some in lefts.items()
            for other, rule in _RULES.get(kind, {}).items()
            for at, right in enumerate(rights.get(other, ()))
            for left in some[: KEPT // (at + 1)]
            if left.score + right.score > least
            for node in rule(self, left, right)
        ]

    # Items

    def _find_form(self) -> tuple[str, int]:  # noqa: PLR0911
        """Return what is asked for (count, yes, where, who, when, measure, or plain), and the first word after it."""
        words = self.words
        for at, word in enumerate(words[:6]):
            following = words[at + 1] if at + 1 < len(words) else ""
            if word == "how":
                return ("count", at + 2) if following in ("many", "much") else ("measure", at + 1)
            if (word == "number" and following == "of") or (word == "count" and at == 0):
                return "count", at + (2 if following == "of" else 1)
            if word in ("where", "who", "whom", "when"):
                return word, at + 1
            if word in ("which", "what", "list", "name", "give", "show", "find", "whats", "whose"):
                if "number of" in " ".join(words[at : at + 5]) and "most" not in words and "largest" not in words:
                    return "count", words.index("number") + 2
                return "plain", at + 1
        if words and words[0] in YES:
            return "yes", 1
        return "plain", 0

    def _find_first_noun(self) -> str:
        """Return the kind that a question begins with, but for a superlative: it should be what is given."""
        for at in self.places:
            nodes = [node for (start, _), some in self.items.items() if start == at for node in some]
            kinds = [node.more for node in nodes if isinstance(node.plan, Kind) and node.more in self.schema.of_kind]
            if kinds:
                return str(kinds[0])
            if not any(node.kind in ("superlative", "ordinal", "value") for node in nodes):
                return ""
        return ""

    def _make(
        self,
        kind: str,
        plan: Any,
        cls: SetClass | None = None,
        parts: Sequence[Node] = (),
        more: Any = None,
        **own: float,
    ) -> Node:
        score = 0.0
        for part in parts:
            score += part.score
        for name, value in own.items():
            score += self.weights[name] * value
        feats = (tuple([part.feats for part in parts]), tuple(own.items()))
        return Node(kind, plan, feats, score, cls or _NOTHING, more)

    def _set(self, plan: Any, cls: SetClass, parts: Sequence[Node], more: Any = None, **own: float) -> Node:
        return self._make("set", plan, cls, parts, more, **own)

    def _add(self, start: int, end: int, *nodes: Node, cost: str = "", value: float = 1.0) -> None:
        """Add what some words mean; cost: of leaving them out."""
        self.items.setdefault((start, end), []).extend(nodes)
        if cost:
            self.cost |= {at: (cost, value if at == start else 0.0) for at in range(start, end)}

    def _find_items(self) -> None:
        words, begin = self.words, self.begin
        self.particles = self._find_particles()
        pairs = {f"{w} {self.particles.get(at, '')}".strip() for at, w in enumerate(words) if w not in STOP_WORDS}
        self.steps.prepare([*_WITHIN, *(w for w in words if w not in STOP_WORDS)], pairs)
        taken = self._find_values()
        named = self._find_topics(taken)
        for at in range(begin, len(words)):
            for size in range(1, min(3, len(words) - at) + 1):
                name = " ".join([*words[at : at + size - 1], singular(words[at + size - 1])])
                if name in self.schema.of_kind and not taken & set(range(at, at + size)):
                    self._add(
                        at, at + size, self._make("set", Kind(name), self.schema.of_kind[name], (), name, kind_alone=1)
                    )
                    self.cost.update({p: ("kind_left_out", 1.0) for p in range(at, at + size) if p not in named})
            name = self.schema.largest.get(noun_kind(words[at]), "")
            is_relation = bool(name) and max(self.steps.match(words[at]).values(), default=0.0) > 0.9
            if name and not is_relation and singular(words[at]) not in self.schema.of_kind and at not in taken | named:
                node = self._make("set", Kind(name), self.schema.of_kind[name], (), name, kind_alone=1, kind_by_noun=1)
                self._add(at, at + 1, node)
        roles = {word: role for role, said in lexicon()["words"].items() for word in said.split()}
        measures = lexicon()["measures"]
        for at, word in enumerate(words):
            if at in taken:
                continue
            role = roles.get(word)
            if role in ("both", "and"):
                self._add(at, at + 1, self._make("join", "and"))
                self.cost.setdefault(at, ("word_left_out", 0.0))
            elif role:
                node = self._make("join", "or") if role == "or" else self._make(role, word)
                self._add(at, at + 1, node, cost=_LEFT)
            elif self._find_superlative(at) or words[at : at + 2] == ["number", "of"]:
                continue
            elif at == begin and self.form == "measure" and word in measures:
                self._add(at, at + 1, self._make("measure", measures[word]), cost=_LEFT)
        self._find_words(taken, named)
        for at, (name, value) in list(self.cost.items()):
            after = self.items.get((at + 1, at + 2), ()) if name == "word_left_out" else ()
            if value and at not in self.particles and any(isinstance(node.plan, Kind) for node in after):
                self.cost[at] = ("modifier_left_out", value)
        self._keep_operators()

    def _drop_half_named(self, topics: Sequence[Topic]) -> list[Topic]:
        """Return the topics without those whose name lacks an operator word of its mention ("High Point" for "highest
        point"), and without those that a name said in full excludes ("Little Missouri", where "Missouri" stands)."""
        names = [_split_name(topic.matched_name or topic.entity.label) for topic in topics]
        full = [(t, n) for t, n in zip(topics, names, strict=True) if set(n) <= set(self.words)]
        kept = []
        for topic, name in zip(topics, names, strict=True):
            lost = [each.said for each in find_operators(topic.mention) if each.said.lower() not in name]
            rivals = () if set(name) <= set(self.words) else full
            known = (topic.probability or 0.0) / 2
            if not lost and not any(set(n) & set(name) and (t.probability or 0.0) > known for t, n in rivals):
                kept.append(topic)
        return kept

    def _find_operators(self) -> dict[int, str]:
        """Return the operator words by their places."""
        found: dict[int, str] = {}
        names = [topic.mention for topic in self.topics if topic.mention]
        for operator in find_operators(self.text, names):
            said = [token.text for token in tokenise(operator.said)]
            for at in range(len(self.words) - len(said) + 1):
                if self.words[at : at + len(said)] == said and operator.kind not in ("count", "amount"):
                    found |= dict.fromkeys(range(at, at + len(said)), operator.said)
        return found

    def _find_particles(self) -> dict[int, str]:
        """Return the particle of each word that has one: "run through", and "through which states does it run"."""
        words = self.words
        found = {at: words[at + 1] for at in range(len(words) - 1) if words[at + 1] in _PARTICLES}
        names = {at for topic in self.topics if (span := self._span(topic)) for at in range(*span)}
        for at in range(len(words) - 2):
            if words[at] in _PARTICLES and words[at + 1] in ("which", "what", "whom"):
                verbs = (v for v in range(at + 2, len(words)) if words[v] not in STOP_WORDS and v not in names)
                verb = next((v for v in verbs if kind_name(words[v]) not in self.schema.of_kind), None)
                if verb is not None:
                    found.setdefault(verb, words[at])
        return {at: particle for at, particle in found.items() if words[at] not in STOP_WORDS}

    def _keep_operators(self) -> None:
        """Let no operator word be left out that the chart has no reading of: "during", "than"."""
        for at in self.operators:
            before = at - 1 in self.operators and self.operators[at - 1] == self.operators[at]
            if not before and self.cost.get(at, ("",))[0] != _LEFT:
                self.cost[at] = (_LEFT, 1.0)

    def _find_superlative(self, at: int) -> bool:
        """Add the superlative, comparative or ordinal that stands at a place; return whether one does.

        A superlative's `plan` is its sign; `more` has the properties that it compares by, whether it may go with
        another property or a count ("the largest population", "the most rivers"), how many, and after how many.
        """
        words, measures, irregular = self.words, lexicon()["measures"], lexicon()["irregular"]
        word, following = words[at], words[at + 1] if at + 1 < len(words) else ""
        if word in lexicon()["ordinals"]:
            self._add(at, at + 1, self._make("ordinal", lexicon()["ordinals"][word]), cost=_LEFT)
            return True
        if (base := _base_of(word, "er", measures)) or (word in ("more", "less") and following in measures):
            size = 1 if base else 2
            measured = measures[base or following]
            measured = _turn(measured) if word == "less" else measured
            is_than = words[at + size : at + size + 1] == ["than"]
            node = (
                self._make("comparing", measured)
                if is_than
                else self._make("superlative", 1, more=(measured, False, 1, 0))
            )
            self._add(at, at + size + is_than, node, cost=_LEFT)
            return True
        first, _, second = irregular.get(word, "").partition(" ")
        if first in ("most", "least"):
            sign, adjective = 1 if first == "most" else -1, second
        elif first:
            sign, adjective = -1 if first.startswith("-") else 1, first.lstrip("-")
        else:
            sign, adjective = 1, _base_of(word, "est", measures)
            if not adjective:
                return False
        if first in ("most", "least") and not second and following in measures:
            measured = measures[following] if sign > 0 else _turn(measures[following])
            self._add(at, at + 2, self._make("superlative", 1, more=(measured, False, 1, 0)), cost=_LEFT)
            return True
        measured = measures.get(adjective, "")
        is_own = not adjective or (sign < 0 and not second)
        sign_of = sign if is_own else 1
        nodes = [self._make("superlative", sign_of, more=(measured, is_own, 1, 0))]
        if adjective:  # the largest population: of what follows
            is_least = measured.startswith("-") and adjective not in ("old", "near", "close", "early")
            nodes.append(self._make("superlative", -1 if is_least else 1, more=("", True, 1, 0)))
        self._add(at, at + 1, *nodes, cost=_LEFT)
        return True

    def _find_values(self) -> set[int]:
        """Add numbers and dates with their comparison; return the words that they take."""
        words, taken = self.words, set[int]()
        phrases = [(p.split(), op) for op, ps in lexicon()["compare"].items() for p in ps]
        phrases.sort(key=lambda each: -len(each[0]))
        measures = lexicon()["measures"]
        for at, word in enumerate(words):
            read = self._read_number(at)
            if at in taken or not read:
                continue
            first, end = read
            start, op, measured, last = at, "", "", None
            if at > 1 and words[at - 1] == "than" and (base := _base_of(words[at - 2], "er", measures)):
                start, op, measured = at - 2, "~", measures[base]
            for phrase, sign in phrases:
                if not op and at >= len(phrase) and words[at - len(phrase) : at] == phrase:
                    start, op = at - len(phrase), sign
            is_between = at > 0 and words[at - 1] == "between" and words[end : end + 1] == ["and"]
            if is_between and (upper := self._read_number(end + 1)):
                start, op, (last, end) = at - 1, "between", upper
            is_alone = not (op or first.date or word in lexicon()["numbers"])
            if is_alone and at and words[at - 1] in STOP_WORDS - {"the"}:
                continue  # part of a name
            self._add(start, end, self._make("value", None, more=_Value(first, op or "=", measured, last)))
            taken |= set(range(start, end))
            self.cost |= {p: (_LEFT if op else "word_left_out", float(p == at)) for p in range(start, end)}
        return taken

    def _read_number(self, at: int) -> tuple[_Number, int] | None:
        """Return the number or date at a place, with its unit, and the place after it."""
        word = self.words[at] if at < len(self.words) else ""
        if _DATE.fullmatch(word):
            return _Number(None, word), at + 1
        found = _NUMBER.match(str(lexicon()["numbers"].get(word, word)))
        if not found:
            return None
        number, end = float(found[1].replace(",", "")) * _TIMES.get((found[2] or "").lower(), 1), at + 1
        following = self.words[end : end + 1]
        if following and following[0] in _TIMES:
            number, end = number * _TIMES[following[0]], end + 1
        unit = self.said[end] if end < len(self.words) and dimension_of(self.said[end]) else ""
        return _Number(number, word if _YEAR.fullmatch(word) else "", unit), end + bool(unit)

    def _find_topics(self, taken: set[int]) -> set[int]:
        """Add the topics by their spans, those of a kind together; return the words of likely ones."""
        groups: dict[tuple[int, int, tuple[str, ...]], list[Topic]] = {}
        for topic in self.topics:
            span = self._span(topic)
            if span and not set(range(*span)) <= taken and not self.schema.is_class & set(topic.relations):
                kinds = tuple(self.kinds_of.get(topic.entity.id, ())) or self._kinds_by_ends(topic)
                groups.setdefault((*span, kinds), []).append(topic)
        named: set[int] = set()
        self.exact: set[int] = set()
        exact = {
            (start, end) for (start, end, _), some in groups.items() if any(self._is_exact(t, start, end) for t in some)
        }
        for (start, end, kinds), each in groups.items():
            is_exact = (start, end) in exact
            some = [topic for topic in each if not is_exact or self._is_exact(topic, start, end)]
            if not some:
                continue
            self.exact |= set(range(start, end)) if is_exact else set()
            name = fold(some[0].matched_name or some[0].entity.label)
            same = [t for t in some if fold(t.matched_name or t.entity.label) == name]
            likely = max((t.probability or 0.01) for t in same)
            words = " ".join(self.words[start:end])
            is_kind = words in self.schema.of_kind or singular(words) in self.schema.of_kind
            if is_kind and not is_exact:
                continue
            value = 1.0 if is_exact and not is_kind else min(1.0, 2 * likely)
            likely *= 0.2 if is_kind else 1
            first = {self._step(number) for topic in same for number in topic.relations}
            shares = dict.fromkeys((step for step in self.schema.ends if path_of(step)[0] in first), 1.0)
            cls = SetClass(shares, dict.fromkeys(kinds, 1.0), "text" if same[0].entity.is_literal else "")
            ids = tuple(dict.fromkeys(t.entity.id for t in same))[:50]
            place = "in" if {"in", "within"}.intersection(self.words[max(0, start - 2) : start]) else None
            self._add(
                start, end, self._make("set", Topics(ids), cls, (), place, topic_uncertain=math.log(max(likely, 1e-3)))
            )
            if likely > 0.3:
                named |= set(range(start, end))
            free = [p for p in range(start, end) if self.cost.get(p, ("",))[0] != "topic_left_out"]
            self.cost.update(dict.fromkeys(free, ("topic_left_out", value / (end - start))))
        return named

    def _is_exact(self, topic: Topic, start: int, end: int) -> bool:
        """Return whether a topic is called what the question calls it, and not just about so."""
        words = " ".join(self.words[start:end])
        return kind_name(topic.matched_name) in (words, singular(words)) and words not in FUNCTION_WORDS

    def _kinds_by_ends(self, topic: Topic) -> tuple[str, ...]:
        steps = {self._step(number) for number in topic.relations}
        return tuple(name for name in self.schema.of_kind if steps & set(self.schema.kinds[name].ends))

    def _step(self, number: int) -> str:
        name = self.schema.numbers.get(abs(number), "")
        return f"^{name}" if name and number < 0 else name

    def _span(self, topic: Topic) -> tuple[int, int] | None:
        said = [token.text for token in tokenise(topic.mention)]
        starts = range(len(self.words) - len(said) + 1) if said else ()
        return next(((at, at + len(said)) for at in starts if self.words[at : at + len(said)] == said), None)

    def _find_words(self, taken: set[int], named: set[int]) -> None:
        """Add runs of words that may mean a relation; none that runs into a name."""
        words, nouns = self.words, lexicon()["nouns"]
        for at, word in enumerate(words):
            if (
                at < self.begin
                or at in taken
                or word in STOP_WORDS
                or word in _PLAIN
                or words[at : at + 2] == ["number", "of"]
            ):
                continue
            if word in lexicon()["measures"] and not (self.form == "measure" and at == self.begin):
                self.cost.setdefault(at, ("word_left_out", 1.0))
                continue  # an adjective says of what things, not how they are related
            if word in lexicon()["nouns"]["live"].split() and at and words[at - 1] in nouns:
                self.cost[at] = ("word_left_out", 0.0)
                continue
            if word in nouns and (self.form == "count" or word == "size"):
                found = {step: fit for step, (fit, _) in self.steps.match_measure(nouns[word]).items()}
                if found:
                    self._add(at, at + 1, self._make("words", {s: (f, 0.0) for s, f in _best(found)}, more=1))
            for size in range(1, min(3, len(words) - at) + 1):
                inner = [w for w in words[at : at + size] if w not in STOP_WORDS]
                run = set(range(at, at + size))
                if words[at + size - 1] not in STOP_WORDS and not taken & run and not (size > 1 and named & run):
                    self._add_words(at, at + size, inner)
            if at not in self.cost:
                is_name = at > self.begin and self.said[at][:1].isupper() and any(map(str.islower, self.said[1:]))
                self.cost[at] = ("topic_left_out" if is_name else "word_left_out", 1.0)
                if self._is_property(at):
                    self.cost[at] = (_LEFT, 1.0)

    def _asks_for(self, at: int) -> bool:
        """Return whether the words up to a place only ask: what follows is a noun, and no verb in -s."""
        return all(word in STOP_WORDS or word in _PLAIN for word in self.words[:at])

    def _is_property(self, at: int) -> bool:
        """Return whether a word is what a superlative compares by: "the highest density", before the phrase ends."""
        before = [node.kind for node in self.items.get((at - 1, at), ())]
        return "superlative" in before and (at + 1 == len(self.words) or self.words[at + 1] in STOP_WORDS)

    def _add_words(self, start: int, end: int, inner: Sequence[str]) -> None:
        """Add a run of words as a relation, and as what stands at its end ("actors")."""
        found = self.steps.match_all(inner)
        if end - start == 1:
            phrase = f"{inner[0]} {self.particles.get(start, '')}".strip()
            for step, fit in self.steps.match_phrase(phrase).items():
                found[step] = max(fit, found.get(step, 0.0))
        said = [self.words[at] for at in range(start, end) if at in self.operators]
        own = [*said, *(self.words[at] for at in range(start, end) if at in self.exact and self.words[at] in inner)]
        if own:
            found = {step: fit for step, fit in found.items() if self.steps.unsaid_of(step, own) == 0}
        if not found or (end - start > 1 and max(found.values()) <= 0.6):
            return
        is_kind = float(any(singular(word) in self.schema.of_kind for word in inner))
        fits = {step: (fit, self.steps.unsaid(step, inner)) for step, fit in _best(found)}
        is_one = singular(inner[-1]) == inner[-1]
        several = not is_one and not self.cost.get(start, ("",))[0].startswith("topic") and self._asks_for(start)
        words = self._make("words", fits, _SEVERAL if several else None, more=len(inner), kind_read_as_relation=is_kind)
        self._add(start, end, words, *(self._find_peaks(words, start) if said and is_one else ()))
        for step, fit in fits.items():
            cls = self.schema.ends.get(step)
            if fit[0] <= 0.6 or cls is None or cls.value or (step.startswith("^") and not _is_agent(inner[-1])):
                continue
            name = end_kind(step[1:] if step.startswith("^") else f"^{step}")
            ends: Any = Kind(name)
            if len(path_of(step)) > 1:
                froms = [kind for kind, each in self.schema.of_kind.items() if each.steps.get(step, 0.0) > 0.2]
                if not froms:
                    continue
                ends = Follow(Kind(froms[0]), path_of(step))
            self._add(
                start, end, self._make("set", ends, cls, (words,), name, end_of_a_relation=1, **_fits(fit, words))
            )

    def _find_peaks(self, words: Node, start: int) -> list[Node]:
        """Return what else a superlative in the name of a relation may say: of the highest points the highest."""
        found = []
        for most in [node for node in self.items.get((start, start + 1), ()) if node.kind == "superlative"]:
            for step, fit in words.plan.items():
                for last, path, sign, fits in self._measured(most.more[0], self.schema.ends.get(step, _NOTHING)):
                    order, own = sign * most.plan, {**fits, **_fits(fit, words)}
                    key = (order, THROUGH.join((step, last)), None, 1, 0)
                    found.append(self._make("key", key, None, (words,), "value", **own))
                    peak = (step, path, "most" if order > 0 else "least")
                    found.append(self._make("peak", peak, None, (words,), **own))
        return found

    # Combining: a rule of two neighbours returns what they may make together

    def _leave_out(self, node: Node, place: int) -> Node:
        name, value = self.cost.get(self.places[place], ("word_left_out", 1.0))
        if not value:
            return node
        score = node.score + value * self.weights[name]
        return Node(node.kind, node.plan, ((node.feats,), ((name, value),)), score, node.cls, node.more)

    def words_set(self, words: Node, of: Node, *, after: bool = False) -> list[Node]:
        """Words and a set: what a relation that the words mean leads to."""
        return [
            self._set(
                plan, self.schema.ends[step], (words, of), **_fits(fit, words), share=math.log(share), size=1,
                relation_after_its_topic=float(after),
                one_where_several=float(words.cls is _SEVERAL and self._is_one(plan)),
            )
            for step, fit in words.plan.items()
            if (share := of.cls.steps.get(step, 0.0)) > 0 and step in self.schema.ends
            and (plan := Follow(of.plan, path_of(step)))
        ]  # fmt: skip

    def peak_set(self, left: Node, right: Node) -> list[Node]:
        """The highest of the highest points of the states."""
        step, path, how = left.plan
        share, is_one = right.cls.steps.get(step, 0.0), isinstance(right.plan, Topics) and len(right.plan.ids) == 1
        if not share or is_one:
            return []
        plan = Best(Follow(right.plan, path_of(step)), path, how)
        return [self._set(plan, self.schema.ends[step], (left, right), share=math.log(share), size=2)]

    def set_set(self, left: Node, right: Node) -> list[Node]:
        """A noun and what modifies it, which stands behind it or before it."""
        return [*self._modify(left, right, before=False), *self._modify(right, left, before=True)]

    def _modify(self, head: Node, mod: Node, *, before: bool) -> list[Node]:
        made, parts = [], (head, mod)
        pure = head.more if isinstance(head.plan, Kind) and head.more in self.schema.of_kind else None
        is_amount = head.cls.value in NUMBERS or head.cls.value in DATES  # equal ones need not be the same
        both_named = isinstance(head.plan, Topics) and isinstance(mod.plan, Topics)
        overlap = 0.0 if is_amount or both_named else self._overlap(head.cls, mod.cls)
        common = {"modifier_before_its_noun": float(before), "several_things_modified": float(pure is None)}
        if pure is not None:
            common["kind_alone"] = -1
        is_one = isinstance(head.plan, Topics) and len(head.plan.ids) == 1 and self.form != "yes"
        if overlap > 0 and not is_one and not (isinstance(mod.plan, Kind) and pure in (mod.more, None)):
            if pure and mod.cls.kinds.get(pure, 0.0) > 0.98:
                cls = SetClass(mod.cls.steps, {pure: 1.0}, mod.cls.value)
                made.append(self._set(mod.plan, cls, parts, mod.more, kind_agrees=1, **common))
            else:
                kinds = head.cls.kinds
                if not pure:
                    kinds = {kind: min(share, mod.cls.kinds.get(kind, 0)) for kind, share in kinds.items()}
                own = {"kind_as_filter": 1.0, "kind_overlap": math.log(overlap), "size": 1.0}
                made.append(
                    self._set(Both(head.plan, mod.plan), SetClass(head.cls.steps, kinds), parts, **own, **common)
                )
        if isinstance(head.plan, Topics) and not (both_named and self.form == "yes"):
            return made
        if overlap > 0.5 and not isinstance(mod.plan, Kind | Topics):
            return made  # what it leads to are such things themselves
        for path, share, cost in self._paths(head.cls, mod.cls):
            own = {"size": 1.0, "share": share, cost: 1.0, **common}
            if mod.more == "in":  # says that it holds or contains them
                said = [self.steps.match(word) for word in _WITHIN]
                own["relation_words"] = 0.7 * max(each.get(step, 0.0) for each in said for step in path)
            made.append(self._set(Where(head.plan, Has(path, mod.plan)), head.cls, parts, **own))
        return made

    def _paths(self, one: SetClass, two: SetClass) -> list[tuple[tuple[str, ...], float, str]]:
        """Return paths that lead from one class to things of another, with the logarithm of their share."""
        known = self.paths.get((id(one), id(two)))
        if known is None:
            known = self.paths[id(one), id(two)] = (one, two, self._find_paths(one, two))
        return known[2]  # type: ignore[no-any-return]

    def _find_paths(self, one: SetClass, two: SetClass) -> list[tuple[tuple[str, ...], float, str]]:
        found = []
        for step, share in one.steps.items():
            end = self.schema.ends.get(step)
            if end is not None and (back_share := two.steps.get(back(step), 0.0)):
                fit = 1.0 if two.value else self._overlap(end, two)
                if fit > 0.05:
                    found.append((path_of(step), math.log(share * fit * back_share), "relation_without_words"))
        lasts = [last for last in map(back, two.steps) if last in self.schema.ends] if not found else []
        for first, share in one.steps.items() if lasts else ():
            middle = self.schema.ends.get(first, _NOTHING).steps
            for last in lasts:
                if last in middle and last != back(first):
                    fit = 1.0 if two.value else self._overlap(self.schema.ends[last], two)
                    if fit > 0.3:
                        path = (*path_of(first), *path_of(last))
                        found.append((path, math.log(share * middle[last] * fit), "two_relations_without_words"))
        return sorted(found, key=lambda each: -each[1])[:4]

    def _leads_on(self, cls: SetClass, path: Sequence[str]) -> bool:
        return any(path_of(step)[0] == path[0] for step in cls.steps)

    def _overlap(self, one: SetClass, two: SetClass) -> float:
        """Return how far the things of two classes may be the same, 0 to 1: by their kinds, else by their relations."""
        if one.value or two.value:
            return float(bool(one.value) and one.value == two.value)
        known = self.known.get((id(one), id(two)))
        if known is None:
            found = _overlap(one.kinds, two.kinds) if one.kinds and two.kinds else _overlap(one.steps, two.steps)
            known = self.known[id(one), id(two)] = (one, two, found)
        return known[2]  # type: ignore[no-any-return]

    def _is_number(self, step: str, kinds: Sequence[str] = (*NUMBERS, *DATES)) -> bool:
        end = self.schema.ends.get(step)
        return end is not None and end.value in kinds

    def _is_one(self, plan: Any) -> bool:
        """Return whether a plan is one thing: a topic, or what a relation that leads to one leads to from there."""
        if isinstance(plan, Follow):
            return self._is_one(plan.of) and all(step in self.schema.to_one for step in plan.path)
        return isinstance(plan, Topics) and len(plan.ids) == 1

    def _measured(self, measured: str, cls: SetClass) -> list[tuple[str, tuple[str, ...], int, dict[str, float]]]:
        """Return properties of a class that fit an adjective: the step, its path, its sign, features."""
        return [
            (step, path, sign, {"superlative_fits": fit, "property_two_steps_away": float(is_far)})
            for step, (fit, sign) in self.steps.match_measure(measured).items()
            if self._is_number(step)
            for path, is_far in self._to_step(cls, step)
        ]

    def _to_step(self, cls: SetClass, step: str) -> list[tuple[tuple[str, ...], bool]]:
        if step in cls.steps or (step not in self.schema.ends and path_of(step)[0] in cls.steps):
            return [(path_of(step), False)]
        if cls.value or step not in self.schema.ends:
            return []
        return [
            ((*path_of(first), *path_of(step)), True)
            for first in cls.steps
            if (end := self.schema.ends.get(first)) and end.steps.get(step, 0.0) > 0.5 and not first.startswith("^")
        ][:3]

    # Superlatives and comparatives

    def superlative_set(self, left: Node, right: Node, *, after: bool = False) -> list[Node]:
        """The largest of a set: by a property that fits the adjective; the most of a kind: a key that counts them."""
        measured, is_bare, k, skip = left.more
        made, parts = [], (left, right)
        if is_bare and not after and not isinstance(right.plan, Topics):
            if isinstance(right.plan, Kind):
                key = (left.plan, None, right.plan, k, skip)
                made.append(self._make("key", key, right.cls, parts, "count", superlative_by_count=1))
            if not self._is_one(right.plan):
                made.append(self._make("ranked", right.plan, right.cls, parts, (left.plan, k, skip)))
        own = {"superlative_after_its_noun": float(after), "size": 1.0}
        own["one_where_several"] = float(self._is_one(right.plan))
        for _, path, sign, fits in self._measured(measured, right.cls):
            how: Any = "most" if sign * left.plan > 0 else "least"
            made.append(self._set(Best(right.plan, path, how, k, skip), right.cls, parts, **fits, **own))
        return made

    def set_superlative(self, left: Node, right: Node) -> list[Node]:
        return self.superlative_set(right, left, after=True)

    def superlative_several(self, left: Node, right: Node) -> list[Node]:
        """Which is longer, the Rhine or the Danube: the first of both."""
        _, one, two = right.plan
        both = Node("set", Topics((*one.ids, *two.ids)), right.feats, right.score, right.cls)
        return self.superlative_set(left, both)

    def several_superlative(self, left: Node, right: Node) -> list[Node]:
        return self.superlative_several(right, left)

    def ranked_words(self, left: Node, right: Node) -> list[Node]:
        """The top five cities by population."""
        sign, k, skip = left.more
        how: Any = "most" if sign > 0 else "least"
        return [
            self._set(
                Best(left.plan, path_of(step), how, k, skip), left.cls, (left, right), **_fits(fit, right), size=1
            )
            for step, fit in right.plan.items()
            if self._is_number(step) and step in left.cls.steps
        ]

    def ordinal_superlative(self, left: Node, right: Node) -> list[Node]:
        """The second largest."""
        measured, is_bare, k, _ = right.more
        return [self._make("superlative", right.plan, None, (left, right), (measured, is_bare, k, left.plan))]

    def value_superlative(self, left: Node, right: Node) -> list[Node]:
        """The five largest; the top five."""
        number = left.more.whole
        measured, is_bare, _, skip = right.more
        if left.more.op != "=" or number is None or not 1 <= number <= 1_000:
            return []
        return [self._make("superlative", right.plan, None, (left, right), (measured, is_bare, number, skip))]

    def superlative_value(self, left: Node, right: Node) -> list[Node]:
        return self.value_superlative(right, left)

    def superlative_words(self, left: Node, right: Node) -> list[Node]:
        """The largest population: a key by the property that the words mean."""
        _, is_bare, k, skip = left.more
        return [
            self._make("key", (left.plan, step, None, k, skip), None, (left, right), "value", **_fits(fit, right))
            for step, fit in right.plan.items()
            if is_bare and self._is_number(step)
        ]

    def words_superlative(self, left: Node, right: Node) -> list[Node]:
        return self.superlative_words(right, left)

    def words_key(self, left: Node, right: Node) -> list[Node]:
        """Borders the most states: a key that counts, by the relation that the words mean."""
        sign, step, of, k, skip = right.plan
        if right.more != "count" or step:
            return []
        return [
            self._make("key", (sign, step, of, k, skip), right.cls, (left, right), "count", **_fits(fit, left))
            for step, fit in left.plan.items()
            if step in self.schema.ends and self._overlap(self.schema.ends[step], right.cls) > 0.05
        ]

    def set_key(self, left: Node, right: Node) -> list[Node]:
        sign, step, _, k, skip = right.plan
        how: Any = "most" if sign > 0 else "least"
        parts, own = (left, right), {"one_where_several": float(self._is_one(left.plan)), **_far(left)}
        if right.more == "value":
            return [
                self._set(
                    Best(left.plan, path, how, k, skip),
                    left.cls,
                    parts,
                    property_two_steps_away=float(far),
                    size=1,
                    **own,
                )
                for path, far in self._to_step(left.cls, step)
            ]
        paths = [(path_of(step), 0.0, "share")] if step else self._paths(left.cls, right.cls)
        return [
            self._set(
                Best(left.plan, path, how, k, skip, count=True), left.cls, parts, **own, **_path(share, cost),
                size=1.0 + (cost == "share"),
            )
            for path, share, cost in paths
            if self._leads_on(left.cls, path)
        ]  # fmt: skip

    def key_set(self, left: Node, right: Node) -> list[Node]:
        """The highest salary of the employees: how high it is, or whose."""
        found = []
        for node in self.set_key(right, left):
            found.append(replace(node, score=node.score + self.weights["whose_superlative"]))
            found[-1].feats = ((node.feats,), (("whose_superlative", 1.0),))
            if left.more == "value" and left.plan[1] in self.schema.ends and isinstance(best := node.plan, Best):
                cls = SetClass(value="number")
                found.append(Node("set", Follow(best, best.path), node.feats, node.score, cls))
        return found

    def comparing_set(self, left: Node, right: Node) -> list[Node]:
        """Longer than the Rhine."""
        if not isinstance(right.plan, Topics):
            return []
        return [self._make("compared", left.plan, right.cls, (left, right), right.plan)]

    def set_compared(self, left: Node, right: Node) -> list[Node]:
        """Whether one thing is longer than another."""
        if not isinstance(left.plan, Topics):
            return []
        made = []
        for step, path, sign, fits in self._measured(right.plan, left.cls):
            for other, _ in self._to_step(right.cls, step):
                op: Any = ">" if sign > 0 else "<"
                plan = Compare(Total(left.plan, path, "max"), op, Total(right.more, other, "max"))
                made.append(self._make("whole", plan, None, (left, right), "yes", **fits, size=1))
        return made

    # Conditions

    def words_value(self, left: Node, right: Node) -> list[Node]:
        """Born after 1962: a condition on the property that the words mean."""
        return [
            self._make("condition", test, None, (left, right), step, **_fits(fit, left))
            for step, fit in left.plan.items()
            for test in self._tests(right, step)
        ]

    def value_words(self, left: Node, right: Node) -> list[Node]:
        return self.words_value(right, left)

    def _tests(self, value: Node, step: str, sign: int = 1) -> list[tuple[Is, ...]]:
        """Return the conditions that a value is on a property, all of which hold; none where it is no such value."""
        more: _Value = value.more
        ops = {"~": (">" if sign > 0 else "<",), "between": (">=", "<=")}.get(more.op, (more.op,))
        tests = [
            self._test(each, step, op) for each, op in zip((more.first, more.last or more.first), ops, strict=False)
        ]
        return [tuple(tests)] if all(tests) else []  # type: ignore[arg-type]

    def _test(self, value: _Number, step: str, op: Any) -> Is | None:
        if value.date and self._is_number(step, DATES):
            return Is(path_of(step), op, date=value.date)
        same = self.schema.dimensions.get(step, "") == (dimension_of(value.unit) if value.unit else "")
        if value.number is None or not same or not self._is_number(step, NUMBERS):
            return None
        return Is(path_of(step), op, number=value.number, unit=value.unit)

    def set_value(self, left: Node, right: Node) -> list[Node]:
        """Films before 1984, cities larger than 1 million: a condition on a property of theirs that has such values."""
        measured = right.more.measured
        if self._is_one(left.plan) and self.form != "yes":
            return []
        steps = [(s, sign, fits) for s, _, sign, fits in self._measured(measured, left.cls) if s in left.cls.steps]
        if not measured:
            steps = [(step, 1, {"condition_without_words": 1.0}) for step in left.cls.steps]
        alone = -float(isinstance(left.plan, Kind))
        return [
            self._set(
                _where(left.plan, test), left.cls, (left, right), **own, share=math.log(left.cls.steps[step]), size=1,
                kind_alone=alone,
            )
            for step, sign, own in steps
            for test in self._tests(right, step, sign)
        ]  # fmt: skip

    def set_condition(self, left: Node, right: Node) -> list[Node]:
        if self._is_one(left.plan) and self.form != "yes":
            return []
        if right.more is not None and right.more not in left.cls.steps:
            return []
        alone = -float(isinstance(left.plan, Kind))
        where = _where(left.plan, right.plan if isinstance(right.plan, tuple) else (right.plan,))
        return [self._set(where, left.cls, (left, right), size=1, kind_alone=alone, **_far(left))]

    def condition_set(self, left: Node, right: Node) -> list[Node]:
        return self.set_condition(right, left)

    def value_set(self, left: Node, right: Node) -> list[Node]:
        """More than three rivers: a condition on how many; the two cities with the largest population."""
        number, op = left.more.whole, left.more.op
        if isinstance(right.plan, Best) and right.plan.k == 1 and op == "=" and number and number <= 1_000:
            return [self._set(replace(right.plan, k=number), right.cls, (left, right))]
        if number is None or op == "~" or not isinstance(right.plan, Kind):
            return []
        return [self._make("counted", (op, number, None), right.cls, (left, right), kind_alone=-1)]

    def words_counted(self, left: Node, right: Node) -> list[Node]:
        op, number, _ = right.plan
        return [
            self._make("counted", (op, number, step), right.cls, (left, right), **_fits(fit, left))
            for step, fit in left.plan.items()
            if step in self.schema.ends and self._overlap(self.schema.ends[step], right.cls) > 0.05
        ]

    def set_counted(self, left: Node, right: Node) -> list[Node]:
        op, number, step = right.plan
        paths = [(path_of(step), 0.0, "size")] if step else self._paths(left.cls, right.cls)
        return [
            self._set(Where(left.plan, CountOf(path, op, number)), left.cls, (left, right), **_path(share, cost))
            for path, share, cost in paths
            if self._leads_on(left.cls, path)
        ]

    # Negation

    def not_set(self, left: Node, right: Node) -> list[Node]:
        is_except = left.plan in lexicon()["except"]["words"].split()
        return [self._make("without", right.plan, right.cls, (left, right), is_except, negation=1)]

    def not_words(self, left: Node, right: Node) -> list[Node]:
        return [
            self._make(
                "condition", Lacks(path_of(step)), None, (left, right), negation=1, lacks_any=1, **_fits(fit, right)
            )
            for step, fit in right.plan.items()
            if step in self.schema.ends
        ]

    def words_not(self, left: Node, right: Node) -> list[Node]:
        return self.not_words(right, left)

    def not_condition(self, left: Node, right: Node) -> list[Node]:
        if not isinstance(right.plan, tuple) or len(right.plan) != 1:
            return []
        test: Is = right.plan[0]
        turned: Any = {"<": ">=", "<=": ">", "=": "!=", "!=": "=", ">=": "<", ">": "<="}[test.op]
        return [self._make("condition", (replace(test, op=turned),), None, (left, right), right.more, negation=1)]

    def words_without(self, left: Node, right: Node) -> list[Node]:
        """Border no states: whose relation leads to none of them."""
        to = None if isinstance(right.plan, Kind) else right.plan
        return [
            self._make(
                "condition", Lacks(path_of(step), to), None, (left, right), step if to else None, **_fits(fit, left),
                kind_alone=-float(to is None),
            )
            for step, fit in left.plan.items()
            if step in self.schema.ends and self._overlap(self.schema.ends[step], right.cls) > 0.05
        ]  # fmt: skip

    def set_without(self, left: Node, right: Node) -> list[Node]:
        """States that do not …: a set without another one, or without a relation to it."""
        if isinstance(best := left.plan, Best):  # what is left out is no candidate
            inner = self.set_without(replace(left, plan=best.of), right)
            return [replace(node, plan=replace(best, of=node.plan)) for node in inner]
        if isinstance(left.plan, Topics) and isinstance(right.plan, Topics):
            return []
        made, parts = [], (left, right)
        alone = -float(isinstance(left.plan, Kind))
        overlap = self._overlap(left.cls, right.cls)
        is_named = isinstance(right.plan, Topics)
        if is_named and isinstance(left.plan, Follow) and not right.more:  # border France but not Germany
            if self._leads_on(right.cls, left.plan.path):
                other = Without(Without(left.plan, Follow(right.plan, left.plan.path)), right.plan)
                made.append(self._set(other, left.cls, parts, size=1))
        elif overlap > 0 and not isinstance(right.plan, Kind) and (right.more or not is_named):
            own = {"size": 1.0, "kind_overlap": math.log(overlap), "kind_alone": alone}
            made.append(self._set(Without(left.plan, right.plan), left.cls, parts, **own))
        for path, share, cost in self._paths(left.cls, right.cls):
            to = None if isinstance(right.plan, Kind) and len(path) == 1 else right.plan
            own = _path(share, cost) | {"size": 1.0, "kind_alone": alone - float(to is None)}
            made.append(self._set(Where(left.plan, Lacks(path, to)), left.cls, parts, **own))
        return made

    # And, or

    def join_any(self, left: Node, right: Node) -> list[Node]:
        return [self._make("joined", (left.plan, right), right.cls, (left, right))]

    def join_several(self, left: Node, right: Node) -> list[Node]:
        return [self._make("several", right.plan, right.cls, (left, right))]

    def set_joined(self, left: Node, right: Node) -> list[Node]:
        how, other = right.plan
        overlap, parts = self._overlap(left.cls, other.cls), (left, right)
        if overlap <= 0:
            return []
        if isinstance(left.plan, Topics) or isinstance(other.plan, Topics):
            if not (isinstance(left.plan, Topics) and isinstance(other.plan, Topics)):
                return []
            return [self._make("several", (how, left.plan, other.plan), left.cls, parts, united_or_intersected=1)]
        if isinstance(left.plan, Kind) and isinstance(other.plan, Kind):
            return []
        plan = (Both if how == "and" else Either)(left.plan, other.plan)
        return [self._set(plan, left.cls, parts, united_or_intersected=1, size=1, kind_overlap=math.log(overlap))]

    def words_several(self, left: Node, right: Node, *, after: bool = False) -> list[Node]:
        how, one, two = right.plan
        make = Both if how == "and" else Either
        return [
            self._set(
                make(Follow(one, path_of(step)), Follow(two, path_of(step))), self.schema.ends[step], (left, right),
                **_fits(fit, left), relation_after_its_topic=float(after), size=2,
            )
            for step, fit in left.plan.items()
            if right.cls.steps.get(step) and step in self.schema.ends
        ]  # fmt: skip

    def several_words(self, left: Node, right: Node) -> list[Node]:
        return self.words_several(right, left, after=True)

    def set_several(self, left: Node, right: Node) -> list[Node]:
        how, one, two = right.plan
        made, alone = [], -float(isinstance(left.plan, Kind))
        for path, share, cost in self._paths(left.cls, right.cls):
            plan = Where(left.plan, Has(path, Either(one, two)))
            if how == "and":
                plan = Where(Where(left.plan, Has(path, one)), Has(path, two))
            made.append(self._set(plan, left.cls, (left, right), size=2, kind_alone=alone, **_path(share, cost)))
        return made

    # Values, totals and groups

    def measure_set(self, left: Node, right: Node) -> list[Node]:
        """How long is …: the value of a property that fits the adjective."""
        return [
            self._set(Follow(right.plan, path), self.schema.ends[step], (left, right), **fits, size=1)
            for step, path, _, fits in self._measured(left.plan, right.cls)
        ]

    def total_set(self, left: Node, right: Node) -> list[Node]:
        """The average salary of employees."""
        if not (isinstance(right.plan, Follow) and self._is_number(right.plan.path[-1], NUMBERS)):
            return []
        plan = Total(right.plan.of, right.plan.path, _how(left.plan))
        of = self.schema.of_kind.get(right.plan.of.name) if isinstance(right.plan.of, Kind) else None
        return [self._make("whole", plan, of, (left, right))]

    def total_words(self, left: Node, right: Node) -> list[Node]:
        """The average salary: of all that have one."""
        how = _how(left.plan)
        return [
            self._make("whole", Total(Kind(end_kind(step)), (step,), how), of, (left, right), **_fits(fit, right))
            for step, fit in right.plan.items()
            if self._is_number(step, NUMBERS) and (of := self.schema.ends.get(f"^{step}"))
        ]

    def per_set(self, left: Node, right: Node) -> list[Node]:
        if not isinstance(right.plan, Kind):
            return []
        return [self._make("group", None, right.cls, (left, right), kind_alone=-1)]

    def group_words(self, left: Node, right: Node) -> list[Node]:
        """Each person directed: by the relation that the words mean."""
        return [
            self._make("group", step, left.cls, (left, right), **_fits(fit, right))
            for step, fit in right.plan.items()
            if step in self.schema.ends and self._overlap(self.schema.ends[step], left.cls) > 0.05
        ]

    def words_group(self, left: Node, right: Node) -> list[Node]:
        return self.group_words(right, left)

    def set_group(self, left: Node, right: Node) -> list[Node]:
        """How many employees per department."""
        if self.form != "count" or isinstance(left.plan, Topics):
            return []
        paths = [(path_of(right.plan), 0.0, "share")] if right.plan else self._paths(left.cls, right.cls)
        return [
            self._make("whole", Rank(left.plan, path), None, (left, right), **_path(share, cost), size=1)
            for path, share, cost in paths
            if self._leads_on(left.cls, path)
        ]

    def group_set(self, left: Node, right: Node) -> list[Node]:
        return self.set_group(right, left)

    def whole_group(self, left: Node, right: Node) -> list[Node]:
        """The average salary per department."""
        total, parts = left.plan, (left, right)
        if not isinstance(total, Total) or total.how not in ("sum", "mean"):
            return []
        return [
            self._make("whole", Rank(total.of, path, total.how, total.path), None, parts, **_path(share, cost), size=1)
            for path, share, cost in self._paths(left.cls, right.cls)
        ]

    def group_whole(self, left: Node, right: Node) -> list[Node]:
        return self.whole_group(right, left)

    # The whole

    def _finish(self, cell: Mapping[str, Sequence[Node]]) -> list[Candidate]:
        made: dict[Any, Candidate] = {}
        modifiers = tuple(self.said[at] for at, (name, _) in self.cost.items() if name == "modifier_left_out")
        for node in (*cell.get("set", ()), *cell.get("whole", ())):
            agrees = node.cls.kinds.get(self.first_noun, 0.0) if self.first_noun and node.kind == "set" else 0.5
            first = {"first_noun_agrees": float(agrees > 0.5), "first_noun_is_another": float(agrees < 0.5)}
            for plan, of_whole in self._wholes(node):
                own = of_whole | first if self.form in ("plain", "count") else of_whole
                score = node.score + sum(self.weights[name] * value for name, value in own.items())
                if plan not in made or made[plan].score < score:
                    feats = dict.fromkeys(FEATURES, 0.0)
                    _add_up(node.feats, feats)
                    for name, value in own.items():
                        feats[name] += value
                    asks_less = isinstance(plan, Exists) and any(feats[name] >= 0.5 for name in _LEFT_OUT)
                    if not asks_less and is_within_bounds(plan):
                        unread = modifiers if feats["modifier_left_out"] else ()
                        made[plan] = Candidate(plan, feats, score, feats[_LEFT] > 0, unread)
        return sorted(made.values(), key=lambda each: -each.score)

    def _find_places(self, cls: SetClass) -> list[str]:
        """Return the steps to where things are: those to places within others before those to the others."""
        places = self.schema.places
        within = []
        for step in cls.steps:
            end, noun = self.schema.ends.get(step, _NOTHING), noun_kind(step.split(".")[-1])
            is_place = step in places or (noun == "" and not step.startswith("^") and step not in end.steps)
            if is_place and places.intersection(end.steps):
                within.append(step)
        return within or [step for step in cls.steps if step in places]

    def _wholes(self, node: Node) -> list[tuple[Any, dict[str, float]]]:
        """Return the plans that a node is as a whole, with the features of being that."""
        plan, cls = node.plan, node.cls
        if node.kind == "whole":
            return [(plan, {})] if node.more != "yes" or self.form == "yes" else []
        if isinstance(plan, Topics) and self.form != "where":
            return []
        is_number, is_date = cls.value in NUMBERS, cls.value in DATES
        found: list[tuple[Any, dict[str, float]]] = []
        if self.form == "count":
            found.append(
                (Find(plan), {"gives_a_number_where_asked_how_many": 1.0})
                if is_number
                else (Count(plan), {"counts": 1.0, "one_where_several": float(self._is_one(plan))})
            )
        elif self.form == "yes":
            found.append((Exists(plan), {}))
        elif self.form in ("where", "who"):
            if not isinstance(plan, Topics):
                found.append((Find(plan), {"not_wanted_kind": float(bool(cls.value))}))
            for step in self._find_places(cls) if self.form == "where" else ():
                own = {"wanted_kind": 1.0, "relation_without_words": 1.0, "share": math.log(cls.steps[step])}
                found.append((Find(Follow(plan, path_of(step))), own))
        elif self.form in ("when", "measure"):
            is_wanted = is_date if self.form == "when" else is_number
            found.append((Find(plan), {"wanted_kind": float(is_wanted), "not_wanted_kind": float(not is_wanted)}))
        else:
            found.append((Find(plan), {}))
        return found


_LEFT = "operator_left_out"
_LEFT_OUT = ("word_left_out", "modifier_left_out", "kind_left_out", "topic_left_out")
"""With one of these whether something is so was not asked of all that is said."""
_WITHIN = ("located", "contained", "within")
_NOTHING = SetClass()
_SEVERAL = SetClass()
"""Of words in the plural."""
_PARTICLES = frozenset("through in out to at by over for from with on off up into across".split())
_PLAIN = frozenset("many much".split())
YES = frozenset("is are was were does do did has have can".split())


def _keep(nodes: Sequence[Node]) -> dict[str, list[Node]]:
    """Return the best nodes of each category, each plan once."""
    kept: dict[str, list[Node]] = {}
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


def _overlap(one: Mapping[str, float], two: Mapping[str, float]) -> float:
    common = sum(min(share, two[name]) for name, share in one.items() if name in two)
    return common / max(1e-9, sum(one.values()), sum(two.values()))


def _best(found: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(found.items(), key=lambda each: -each[1])[:CANDIDATES]


def _fits(fit: tuple[float, float], words: Node) -> dict[str, float]:
    """Return the features of words that fit a relation so far."""
    size = float(words.more or 1)
    return {"relation_words": fit[0] * size, "relation_words_off": (1 - fit[0]) * size, "relation_unsaid": fit[1]}


def _path(share: float, cost: str) -> dict[str, float]:
    """Return the features of a path that no words mean."""
    return {"share": share, cost: share if cost == "share" else 1.0}


def _far(node: Node) -> dict[str, float]:
    return {"attached_far": float(not isinstance(node.plan, Kind | Topics))}


def _where(of: Any, tests: Sequence[Any]) -> Any:
    for test in tests:
        of = Where(of, test)
    return of


def _split_name(name: str) -> list[str]:
    return [token.text for token in tokenise(name) if token.text not in STOP_WORDS]


def _how(word: str) -> Any:
    return "mean" if word in ("average", "mean") else "sum"


def _is_agent(word: str) -> bool:
    """Return whether a noun says who does something: "actors"."""
    return singular(word).endswith(("er", "or", "ist", "ian"))


def _turn(words: str) -> str:
    return " ".join(word[1:] if word.startswith("-") else f"-{word}" for word in words.split())


def _base_of(word: str, ending: str, known: Mapping[str, str]) -> str:
    """Return the adjective of a word in -er or -est."""
    base = word.removesuffix(ending)
    if base == word:
        return ""
    forms = (base, f"{base}e", base[:-1] if base[-1:] == base[-2:-1] else base, f"{base[:-1]}y")
    return next((each for each in forms if each in known), "")


_Rule = Callable[[_Chart, Node, Node], list[Node]]
_RULES: dict[str, dict[str, _Rule]] = {
    "words": {
        "set": _Chart.words_set, "superlative": _Chart.words_superlative, "key": _Chart.words_key,
        "value": _Chart.words_value, "counted": _Chart.words_counted, "not": _Chart.words_not,
        "without": _Chart.words_without, "several": _Chart.words_several, "group": _Chart.words_group,
    },
    "set": {
        "words": lambda chart, left, right: chart.words_set(right, left, after=True), "set": _Chart.set_set,
        "superlative": _Chart.set_superlative, "key": _Chart.set_key, "value": _Chart.set_value,
        "condition": _Chart.set_condition, "counted": _Chart.set_counted, "without": _Chart.set_without,
        "joined": _Chart.set_joined, "several": _Chart.set_several, "compared": _Chart.set_compared,
        "group": _Chart.set_group,
    },
    "superlative": {
        "set": _Chart.superlative_set, "words": _Chart.superlative_words, "value": _Chart.superlative_value,
        "several": _Chart.superlative_several,
    },
    "several": {"words": _Chart.several_words, "superlative": _Chart.several_superlative},
    "ordinal": {"superlative": _Chart.ordinal_superlative},
    "peak": {"set": _Chart.peak_set},
    "ranked": {"words": _Chart.ranked_words},
    "key": {"set": _Chart.key_set},
    "value": {"words": _Chart.value_words, "set": _Chart.value_set, "superlative": _Chart.value_superlative},
    "condition": {"set": _Chart.condition_set},
    "comparing": {"set": _Chart.comparing_set},
    "not": {"set": _Chart.not_set, "words": _Chart.not_words, "condition": _Chart.not_condition},
    "join": {"set": _Chart.join_any, "several": _Chart.join_several},
    "measure": {"set": _Chart.measure_set},
    "total": {"set": _Chart.total_set, "words": _Chart.total_words},
    "per": {"set": _Chart.per_set},
    "group": {"set": _Chart.group_set, "whole": _Chart.group_whole, "words": _Chart.group_words},
    "whole": {"group": _Chart.whole_group},
}  # fmt: skip
