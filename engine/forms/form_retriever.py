"""Split a question with a form into plain questions, retrieve for each, and combine their answers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...models import Share
from ...models.forms.operators import find_operators
from ...models.forms.parsing import parse_question
from ...models.forms.plan import FormPlan
from ...models.text import RelationWords
from ...models.wording import fold, singular
from ..evidence import LEAST_PROBABILITY, Evidence, Reason
from ..evidence.bridges import to_chains
from ..evidence.extras import FormAnswer, FormResult
from ..evidence.text import shorten_iris
from ..linking import look_up_topics
from ..parts import Link, Retrieve, Wrapper, option, part
from ..values import Chain, LinkedQuestion, Question, Scored, Topic
from .accounting import find_step_words
from .ends import MAX_STEPS, Combination, CombinationResult, EndSet, ValueBounds, combine_ends
from .part_chains import (
    SAMPLED,
    begins_with,
    choose_agreeing_chains,
    leads_to_named_kind,
    leads_to_number,
    leads_to_values,
    take_back_last_hop,
)
from .yes_or_no import answer_yes_or_no, are_distinct, raise_odds, split_sides

if TYPE_CHECKING:
    from ..context import Context, Database

MAX_SHOWN = 100
"""Of the ends that are found, those that come back; all are counted."""
PATHS = 10
"""Best paths among which one is looked for that leads to what a form needs."""


@dataclass(slots=True)
class _FormState:
    """A question with a form, and what was found for each of its parts so far."""

    linked: LinkedQuestion
    plan: FormPlan
    names: tuple[str, ...] = ()
    """Of its topics, as the question or the graph spells them."""
    parts: list[Evidence[Chain]] = field(default_factory=list)
    whole: Evidence[Chain] | None = None
    """What was found for the question as it stands, where it says more of a part than the part's own words."""
    chosen: list[Scored[Chain] | None] = field(default_factory=list)
    """The chain of each part."""
    sampled: list[tuple[Scored[Chain], list[Evidence[Chain]]]] = field(default_factory=list)
    """Chains that may be the one of an ordered part, with what was found for the property of some of their ends."""
    value: Chain | None = None
    by_count: bool = False
    reason: str = ""
    kind: Reason | None = None


@part("forms")
@dataclass(frozen=True)
class Forms(Wrapper):
    """Takes questions of a form (how many, both, not, …) apart, and combines their parts (docs/questions.md).

    The evidence of a question with a form holds the chains that support its answer, with a `FormResult` as its extra. A
    part's chain is its best one; chains with a probability below `least` are dropped. A chain's probability is the
    higher of two: by the part's own words, and that of the best path of the whole question that begins with the chain:
    "people in Sales" names no relation, but the whole question asks for their salary. At most two more retrievals per
    batch, and one query for each question with a form.

    where_sure: a question keeps its plain evidence if its parts find nothing or are less likely than the plain
    evidence, or if it asks how many and a number is found.
    """

    least: Share = option(LEAST_PROBABILITY, "below this probability no path is taken for a part of a question")
    where_sure: bool = option(False, "keep the plain answer unless the parts of the question are surer")

    def __call__(
        self, ctx: Context, questions: Sequence[LinkedQuestion], top_k: int, retrieve: Retrieve, link: Link
    ) -> list[Evidence[Any]]:
        graph = ctx.graph
        forms = FormRetriever(
            ctx.db, retrieve, link, graph.catalogue.stored_as, graph.words, self.least, where_sure=self.where_sure
        )
        return forms.retrieve(questions, top_k)


class FormRetriever:
    """Answers the questions with a form of one batch part by part; the others are retrieved as they are."""

    def __init__(
        self,
        db: Database,
        retrieve: Retrieve,
        link: Link,
        stored_as: Mapping[str, str],
        words: Mapping[str, RelationWords],
        least: float = LEAST_PROBABILITY,
        *,
        where_sure: bool = False,
    ) -> None:
        self._db = db
        self._retrieve = retrieve
        self._link = link
        self._stored_as = stored_as
        self._words = words
        self._least = least
        self._where_sure = where_sure

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> list[Evidence[Any]]:
        """Return the evidence of each question; for a question with a form it has a `FormResult`."""
        states = [self._start(linked) for linked in questions]
        taken = [each for each in states if each is not None]
        others = [question for question, each in zip(questions, states, strict=True) if each is None]
        plain, formed = self._retrieve_parts(taken, others, top_k)
        rest, done = iter(plain), iter(formed)
        return [next(rest) if each is None else next(done) for each in states]

    def _start(self, linked: LinkedQuestion) -> _FormState | None:
        names = tuple(name for topic in linked.topics for name in _list_names(topic) if name)
        plan = parse_question(linked.question.text, names)
        return None if plan is None or not linked.topics else _FormState(linked, plan, names)

    def _retrieve_parts(
        self, states: Sequence[_FormState], plain: Sequence[LinkedQuestion], top_k: int
    ) -> tuple[list[Evidence[Any]], list[Evidence[Any]]]:
        yes_no = [each for each in states if each.plan.forms == ("yes or no",)]
        others = [each for each in states if each.plan.forms != ("yes or no",)]
        texts = [(each, part.text) for each in others for part in each.plan.parts]
        linked = self._link_parts([(each.linked, text) for each, text in texts])
        sides = [side for each in yes_no for side in split_sides(each.linked)]
        whole = [each for each in others if self._where_sure or each.plan.words or len(each.plan.parts) > 1]
        whole += yes_no if self._where_sure else []
        found = self._retrieve([*plain, *linked, *sides, *(each.linked for each in whole)], max(top_k, PATHS))
        chains = iter([to_chains(each) for each in found[len(plain) :]])
        for each, _ in texts:
            each.parts.append(next(chains))
        for each in yes_no:
            each.parts.extend(next(chains) for _ in split_sides(each.linked))
        for each in whole:
            each.whole = next(chains)
        for each in others:
            each.chosen = self._choose_chains(each)
        self._find_value_paths(others)
        combined = self._combine(others)
        results: dict[int, FormResult] = {}
        for each in yes_no:
            results[id(each)], evidence, item = answer_yes_or_no(each.linked, each.plan, each.parts)
            each.parts, each.chosen = ([evidence], [item]) if evidence else (each.parts, [])
        results |= {id(each): self._make_result(each, result) for each, result in zip(others, combined, strict=True)}
        return list(found[: len(plain)]), [self._choose_evidence(each, results[id(each)], top_k) for each in states]

    def _choose_evidence(self, state: _FormState, formed: FormResult, top_k: int) -> Evidence[Any]:
        """Return the evidence of the form, or the plain evidence if that is more certain."""
        if (
            self._where_sure
            and state.whole is not None
            and (not _is_sure(state, formed, self._least) or self._is_named_so(state))
        ):
            return state.whole.cut_to(top_k)
        return self._make_evidence(state, formed)

    def _is_named_so(self, state: _FormState) -> bool:
        """Whether the operator words of a question are words of its best path: "highest" of "highest point"."""
        best = self._find_best(state.whole) if state.whole is not None else None
        operators = find_operators(state.linked.question.text, state.names)
        covered = frozenset().union(*find_step_words([best] if best is not None else [], self._words))
        return bool(operators) and all(fold(each.said) in covered for each in operators)

    def _link_parts(self, texts: Sequence[tuple[LinkedQuestion, str]]) -> list[LinkedQuestion]:
        """Link each part by its own words. If the user gave ids, use those whose names are in the part, or else all."""
        if not texts:
            return []
        return self._link(
            [replace(whole.question, text=text, topic_entities=_select_topics(whole, text)) for whole, text in texts]
        )

    def _find_value_paths(self, states: Sequence[_FormState]) -> None:
        """Find the path from the ends to the values that order or filter them, by asking for some of the ends."""
        questions: list[Question] = []
        asked: list[tuple[list[Evidence[Chain]], int]] = []
        for each in states:
            for item in _list_candidates(each) if each.plan.words else ():
                ends = [end for end in item.value.answers if not end.is_literal and end.name][:SAMPLED]
                text = f"What is the {each.plan.words} of "
                questions += [Question(f"{text}{end.label}?", (end.id,)) for end in ends]
                each.sampled.append((item, []))
                asked.append((each.sampled[-1][1], len(ends)))
        if not questions:
            return
        linked = look_up_topics(self._db, questions, [()] * len(questions))
        found = iter(self._retrieve(linked, PATHS))
        for evidence, num_ends in asked:
            evidence.extend(to_chains(next(found)) for _ in range(num_ends))
        for each in states:
            if each.sampled:
                self._choose_value(each)

    def _choose_value(self, state: _FormState) -> None:
        """Choose the path that is best for most of the sampled ends. If it leads to values, compare these; if it leads
        to entities and the words are a plural, compare their number.

        Of several chains for the part, take the one that is likeliest together with its path to values. That it has
        one raises its odds.
        """
        valued = [(item, value) for item, sample in state.sampled if (value := self._find_value(sample)) is not None]
        compared = [take_back_last_hop(*pair) for pair in valued if leads_to_values(pair[1].value)]
        if compared:
            item, value = max(
                compared, key=lambda pair: _compute_weight(state, state.parts[0], pair[0]) + pair[1].score
            )
            state.value = value.value
            probability = _compute_probability(state, state.parts[0], item)
            if state.chosen[0] is not None or (probability is not None and probability >= self._least):
                state.chosen[0] = item
        elif state.chosen[0] is not None:
            chain = next((value.value for item, value in valued if item is state.chosen[0]), None)
            if chain is not None and _is_plural(state.plan.words):
                state.value, state.by_count = chain, True
                return
            path = (
                f"{shorten_iris(chain.relation_path)} leads to neither numbers nor dates"
                if chain
                else "no relation fits"
            )
            state.reason = f"nothing to compare by {state.plan.words!r}: {path}"

    def _find_value(self, sample: Sequence[Evidence[Chain]]) -> Scored[Chain] | None:
        """Return the path that is best for most of the ends of a sample, with the logarithm of its probability."""
        best = [(item, evidence.probability(0)) for evidence in sample if (item := self._find_best(evidence))]
        how_often = Counter(str(chain.relation_path) for chain, _ in best)
        chosen = max(best, key=lambda each: how_often[str(each[0].relation_path)], default=None)
        return chosen and Scored(chosen[0], _take_logarithm(1.0 if chosen[1] is None else chosen[1]))

    def _combine(self, states: Sequence[_FormState]) -> list[CombinationResult | None]:
        wanted: list[Combination | None] = [self._make_combination(each) for each in states]
        requests = [combine_ends(each, self._stored_as, MAX_SHOWN) for each in wanted if each is not None]
        found = iter(self._db.run_all(requests))
        return [None if each is None else next(found) for each in wanted]

    def _make_combination(self, state: _FormState) -> Combination | None:
        plan = state.plan
        missing = [
            (part.text, evidence)
            for part, item, evidence in zip(plan.parts, state.chosen, state.parts, strict=True)
            if item is None
        ]
        if missing and (not plan.any_of or len(missing) == len(plan.parts)):
            text, evidence = missing[0]
            why = f": {evidence.note}" if evidence.note else ""
            state.reason = state.reason or f"nothing was found for “{text}”{why}"
            state.kind = evidence.reason
        excluded = tuple(
            topic.entity.id
            for topic in state.linked.topics
            if plan.excluded and plan.excluded.lower() in {topic.mention.lower(), topic.entity.label.lower()}
        )
        if plan.excluded and not excluded:
            state.reason = state.reason or f"nothing in the graph is called {plan.excluded!r}"
        if state.reason:
            return None
        sets = [
            _make_end_set(item.value, evidence, negated=part.negated)
            for part, item, evidence in zip(plan.parts, state.chosen, state.parts, strict=True)
            if item is not None
        ]
        value = tuple(step.step for step in state.value.steps) if state.value else ()
        if any(len(each.steps) > MAX_STEPS for each in sets) or len(value) > MAX_STEPS:
            state.reason = f"a path of more than {MAX_STEPS} triples cannot be combined"
            return None
        within, dates = plan.within, plan.dates
        bound = ValueBounds()
        if within is not None:
            span = dates or replace(within, least=None, most=None)
            bound = ValueBounds(within.least, within.most, span.least, span.most, within.with_least, within.with_most)
        return Combination(tuple(sets), plan.any_of, excluded, value, state.by_count, plan.order, bound)

    def _choose_chains(self, state: _FormState) -> list[Scored[Chain] | None]:
        """Return the chain of each part: the first that leads to values or to entities, as the form needs. If the parts
        differ in one name only, prefer chains over the same relations."""
        plan = state.plan
        lists = [
            [item for item in self._list_likely(state, evidence) if leads_to_values(item.value) == plan.wants_values]
            for evidence in state.parts
        ]
        lists = [
            [item for item in items if leads_to_named_kind(evidence, item.value)] or items
            for items, evidence in zip(lists, state.parts, strict=True)
        ]
        if plan.words or plan.counted:  # of one thing nobody asks how many or which is the greatest
            lists = [[item for item in items if len(item.value.answers) > 1] or items for items in lists]
        if plan.wants_values:
            lists = [
                items or self._list_likely(state, evidence)[:1]
                for items, evidence in zip(lists, state.parts, strict=True)
            ]
        firsts = [items[0] if items else None for items in lists]
        if plan.alike and len({str(item.value.relation_path) for item in firsts if item}) > 1:
            by_path = [{str(item.value.relation_path): item for item in reversed(items)} for items in lists]
            shared = set.intersection(*map(set, by_path))
            if shared:
                best = max(sorted(shared), key=lambda path: sum(each[path].score for each in by_path))
                return [each[best] for each in by_path]
        return self._choose_agreeing(state, lists) or list(firsts)

    def _choose_agreeing(
        self, state: _FormState, lists: Sequence[Sequence[Scored[Chain]]]
    ) -> list[Scored[Chain] | None] | None:
        """Return the first chains of the parts; if an entity must fit several parts, chains that share an end."""
        parts = state.plan.parts
        joined = [at for at, part in enumerate(parts) if not part.negated]
        if state.plan.any_of or len(joined) < 2:
            return None
        weighted = [[(item, _compute_weight(state, state.parts[at], item)) for item in lists[at]] for at in joined]
        together = choose_agreeing_chains(weighted)
        if together is None:
            return None
        chosen: list[Scored[Chain] | None] = [items[0] if items else None for items in lists]
        for at, item in zip(joined, together, strict=True):
            chosen[at] = item
        return chosen

    def _list_likely(self, state: _FormState, evidence: Evidence[Chain]) -> list[Scored[Chain]]:
        """Return the best chains that are likely enough to be right."""
        found = []
        for item in evidence.items[:PATHS]:
            probability = _compute_probability(state, evidence, item)
            if probability is None or probability >= self._least:
                found.append(item)
        return found

    def _find_best(self, evidence: Evidence[Chain]) -> Chain | None:
        if not evidence.items:
            return None
        probability = evidence.probability(0)
        return evidence.items[0].value if probability is None or probability >= self._least else None

    def _make_result(self, state: _FormState, combined: CombinationResult | None) -> FormResult:
        paths = [
            (part.text, f"{item.value.topic.label}: {item.value.relation_path}" if item else "")
            for part, item in zip(state.plan.parts, state.chosen, strict=True)
        ]
        if state.value is not None:
            paths.append((f"{state.plan.words}:", str(state.value.relation_path)))
        probabilities = [
            probability
            for evidence, item in zip(state.parts, state.chosen, strict=True)
            if item is not None and (probability := _compute_probability(state, evidence, item)) is not None
        ]
        formed = FormResult(
            state.plan.forms,
            state.plan.rule,
            tuple(paths),
            counted=state.plan.counted,
            probability=min(probabilities, default=None),
            reason=state.reason,
        )
        if combined is None:
            return formed
        ends = combined.ends
        if state.plan.order and ends:
            ends = tuple(end for end in ends if end.key == ends[0].key)
        total = len(ends) if state.plan.order else combined.total
        reason = "" if total or state.plan.counted else "its paths are in the graph, but no end satisfies all parts"
        return replace(formed, found=tuple(FormAnswer(e.entity, e.key) for e in ends), total=total, reason=reason)

    def _make_evidence(self, state: _FormState, formed: FormResult) -> Evidence[Chain]:
        """Return the chains that support the result: the best of each part, then that of the value."""
        items = [item for item in state.chosen if item is not None]
        if state.value is not None:
            items.append(Scored(state.value, min((item.score for item in items), default=0.0)))
        first = state.parts[0] if state.parts else None
        topics = dict.fromkeys(topic for evidence in state.parts for topic in evidence.topics)
        return Evidence(
            state.linked.question,
            tuple(topics) or state.linked.topics,
            "chain",
            tuple(items),
            first.calibration if first else None,
            reason=state.kind,
            extras=(formed,),
        )


NAMED_KIND = 0.7
"""The probability, at least, of a path from a kind of thing that a part names to the things of this kind. Our own
choice."""
VALUED = 10.0
"""How much higher the odds are that a path is meant whose ends have the property that orders them. Our own choices."""
CANDIDATES = 4
"""Chains of an ordered part whose ends are asked for the property."""
AS_LIKELY = 0.6
"""A form's answer is used if its probability is at least this share of the plain answer's. Our own choice."""


def _is_sure(state: _FormState, formed: FormResult, least: float) -> bool:
    """Return whether to use a form's result rather than the plain answer."""
    if formed.reason or (formed.probability is not None and formed.probability < least):
        return False
    whole = state.whole
    likely = whole.probability(0) if whole is not None and whole.items else None
    if whole is None or likely is None or formed.probability is None or state.plan.forms == ("yes or no",):
        return True
    if state.plan.counted and len(state.plan.forms) == 1 and leads_to_number(whole.items[0].value):
        return formed.probability > likely
    return formed.probability >= AS_LIKELY * likely


def _compute_probability(state: _FormState, evidence: Evidence[Chain], item: Scored[Chain]) -> float | None:
    """Return the probability that a part's chain is right: the higher of that by its own words, and that of a path of
    the whole question that begins with it. None if the scores have no calibration."""
    own = evidence.probability_of(item)
    if own is None:
        return None
    if state.value and not state.by_count and state.value.relation_path.num_hops == 1:
        own = raise_odds(own, VALUED)
    likely = [own, NAMED_KIND] if leads_to_named_kind(evidence, item.value) else [own]
    for place, other in enumerate(state.whole.items if state.whole else ()):
        assert state.whole
        if other.value.topic == item.value.topic and begins_with(other.value, item.value):
            likely.append(state.whole.probability(place) or 0.0)
    return max(likely)


def _list_candidates(state: _FormState) -> list[Scored[Chain]]:
    """Return the chain of an ordered part, and of a question of one part others that lead to several entities."""
    chosen = state.chosen[0] if state.chosen else None
    first = [] if chosen is None else [chosen]
    if len(state.plan.parts) > 1:
        return first
    others = [
        item
        for item in state.parts[0].items[:PATHS]
        if item != chosen and len(item.value.answers) > 1 and not leads_to_values(item.value)
    ]
    if chosen is not None:  # with its beginnings before the rest
        others.sort(key=lambda item: not begins_with(chosen.value, item.value))
    return [*first, *others][:CANDIDATES]


def _compute_weight(state: _FormState, evidence: Evidence[Chain], item: Scored[Chain]) -> float:
    probability = _compute_probability(state, evidence, item)
    return item.score if probability is None else _take_logarithm(probability)


def _take_logarithm(probability: float) -> float:
    return math.log(max(probability, 1e-9))


def _make_end_set(chain: Chain, evidence: Evidence[Chain], *, negated: bool) -> EndSet:
    """Return the ends of a chain; if the part names two entities, only those that it shares with another chain."""
    topic = next((topic for topic in evidence.topics if topic.entity == chain.topic), None)
    is_about_two = topic is not None and any(
        are_distinct(topic, each) and each.score >= topic.score / 2 for each in evidence.topics if each is not topic
    )
    only = tuple(end.id for end in chain.targets) or None if is_about_two else None
    if only is None and evidence.question.filter:
        only = tuple(end.id for end in chain.ends)
    return EndSet(chain.topic.id, tuple(step.step for step in chain.steps), negated, only)


def _select_topics(whole: LinkedQuestion, text: str) -> tuple[str, ...]:
    if not whole.question.topic_entities:
        return ()
    named = tuple(t.entity.id for t in whole.topics if t.entity.label.lower() in text.lower())
    return named or whole.question.topic_entities


def _list_names(topic: Topic) -> tuple[str, str]:
    """Return a topic's label, and its mention unless that is a part of it in lower case: "products"."""
    label, mention = topic.entity.label, topic.mention
    is_part = mention == mention.lower() and singular(fold(mention)) != singular(fold(label)) and mention in fold(label)
    return label, "" if is_part else mention


def _is_plural(words: str) -> bool:
    return bool(re.search(r"\w{2,}s\b|people\b|children\b", words))
