"""Split a question with a form into plain parts, retrieve each part, and combine their ends."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...models.forms.plan import Plan, is_value
from ...models.forms.reading import read
from ..evidence.bridges import to_chains
from ..evidence.calibration import LEAST_PROBABILITY
from ..evidence.chain import Chain
from ..evidence.evidence import Cost, Evidence, Kind, Reason
from ..evidence.form import Formed, Found
from ..linking.topics import looked_up
from ..stages import DecidingLinker, Linker, Retriever
from ..steps import Steps, measured, together
from ..values import LinkedQuestion, Question, Scored, Topic
from .ends import MAX_STEPS, Bound, Combination, Combined, EndSet, combine_ends

MAX_COMBINATIONS = 20
"""The combinations kept from part to part (beam width)."""

Weighted = tuple[Scored[Chain], float]
"""A chain of a part, with its log-probability; without a calibration, with its score."""
_Combination = tuple[float, frozenset[str] | None, list[Scored[Chain]]]


def choose_agreeing_chains(parts: Sequence[Sequence[Weighted]]) -> list[Scored[Chain]] | None:
    """Choose one chain per part so that all share an end, with the highest joint probability; None if no choice does.

    Only the answers of a chain count, not the ends that it leaves out.
    """
    best: list[_Combination] = [(0.0, None, [])]
    for chains in parts:
        longer: list[_Combination] = []
        for weight, shared, chosen in best:
            for item, likely in chains:
                ends = frozenset(end.id for end in item.value.answers)
                common = ends if shared is None else shared & ends
                if common:
                    longer.append((weight + likely, common, [*chosen, item]))
        best = sorted(longer, key=lambda each: -each[0])[:MAX_COMBINATIONS]
    return best[0][2] if best else None


MAX_SHOWN = 100
"""The most ends that are returned; all are counted."""
SAMPLED = 3
"""How many ends are asked for the property that orders or filters them."""
PATHS = 10
"""How many of the best paths are searched for one with the ends that a form needs."""
NOT_THERE = "not in the graph"


@dataclass(slots=True)
class _FormQuestion:
    """A question split into parts, with the evidence for each part."""

    linked: LinkedQuestion
    plan: Plan
    parts: list[Evidence[Chain]] = field(default_factory=list)
    whole: Evidence[Chain] | None = None
    """The evidence for the whole question, if it tells more about a part than the part's own words."""
    chosen: list[Scored[Chain] | None] = field(default_factory=list)
    """The chosen chain of each part."""
    sampled: list[Evidence[Chain]] = field(default_factory=list)
    value: Chain | None = None
    by_count: bool = False
    reason: str = ""
    kind: Reason | None = None


class FormRetriever:
    """Retrieve plain questions with the inner retriever, and questions with a form part by part; a `Retriever` of
    chains.

    The evidence of a question with a form consists of the chains behind its answer; the result is in its `form`. A
    part's chain is its best one; one with a probability below `least` is dropped. Its probability is the maximum of
    that by the part's own words and that of the best path of the whole question which begins with it: "people in Sales"
    names no relation, but their salary in the whole question tells which. At most two more retrievals a batch, and one
    query for each question with a form.
    """

    gives: Kind = "chain"

    def __init__(
        self, retriever: Retriever, linker: Linker, stored_as: Mapping[str, str], *, least: float = LEAST_PROBABILITY
    ) -> None:
        self._retriever = retriever
        self._linker = linker
        self._stored_as = stored_as
        self._least = least

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Any]]]:
        """Return the evidence of each question; for a question with a form, with its result."""
        started_s = time.perf_counter()
        form_questions = [self._begin(linked) for linked in questions]
        taken = [each for each in form_questions if each is not None]
        steps = self._parts(
            taken, [q for q, each in zip(questions, form_questions, strict=True) if each is None], top_k
        )
        (plain, formed), num_requests, _ = yield from measured(steps)
        cost = Cost("forms", time.perf_counter() - started_s, num_requests)
        rest, done = iter(plain), iter(formed)
        return [next(rest) if each is None else next(done).charged([cost]) for each in form_questions]

    def _begin(self, linked: LinkedQuestion) -> _FormQuestion | None:
        names = [name for topic in linked.topics for name in (topic.mention, topic.entity.label) if name]
        plan = read(linked.question.text, names)
        return None if plan is None or not linked.topics else _FormQuestion(linked, plan)

    def _parts(
        self, form_questions: Sequence[_FormQuestion], plain: Sequence[LinkedQuestion], top_k: int
    ) -> Steps[tuple[list[Evidence[Any]], list[Evidence[Any]]]]:
        yes_no = [each for each in form_questions if each.plan.forms == ("yes or no",)]
        others = [each for each in form_questions if each.plan.forms != ("yes or no",)]
        texts = [(each, part.text) for each in others for part in each.plan.parts]
        linked = yield from self._link_parts([(each.linked, text) for each, text in texts])
        sides = [side for each in yes_no for side in _sides(each.linked)]
        whole = [each for each in others if each.plan.words or len(each.plan.parts) > 1]
        found = yield from self._retriever.retrieve(
            [*plain, *linked, *sides, *(each.linked for each in whole)], max(top_k, PATHS)
        )
        chains = iter([to_chains(each) for each in found[len(plain) :]])
        for each, _ in texts:
            each.parts.append(next(chains))
        for each in yes_no:
            each.parts.extend(next(chains) for _ in _sides(each.linked))
        for each in whole:
            each.whole = next(chains)
        for each in others:
            each.chosen = self._choose_chains(each)
        yield from self._values(others)
        combined = yield from self._combine(others)
        results = {id(each): _yes_or_no(each) for each in yes_no}
        results |= {id(each): self._result(each, result) for each, result in zip(others, combined, strict=True)}
        return list(found[: len(plain)]), [self._evidence(each, results[id(each)]) for each in form_questions]

    def _link_parts(self, texts: Sequence[tuple[LinkedQuestion, str]]) -> Steps[list[LinkedQuestion]]:
        """Link each part by its own words; if the user gave ids, use those that the part names, or else all."""
        if not texts:
            return []
        questions = [
            replace(whole.question, text=text, topic_entities=_topics_of_text(whole, text)) for whole, text in texts
        ]
        free = [question for question in questions if not question.topic_entities]
        candidates = iter((yield from self._linker.link(free)) if free else [])
        return (
            yield from looked_up(
                questions,
                [() if q.topic_entities else next(candidates) for q in questions],
                self._linker if isinstance(self._linker, DecidingLinker) else None,
            )
        )

    def _values(self, form_questions: Sequence[_FormQuestion]) -> Steps[None]:
        """Find the path from an end to the property that orders or filters the ends, by asking some ends for it."""
        questions: list[tuple[_FormQuestion, Question]] = []
        for each in form_questions:
            if each.plan.words and each.chosen and (chosen := each.chosen[0]) is not None:
                ends = [end for end in chosen.value.answers if not end.is_literal and end.name][:SAMPLED]
                text = f"What is the {each.plan.words} of "
                questions += [(each, Question(f"{text}{end.label}?", (end.id,))) for end in ends]
        if not questions:
            return
        linked = yield from looked_up([question for _, question in questions], [()] * len(questions))
        found = yield from self._retriever.retrieve(linked, PATHS)
        for (each, _), evidence in zip(questions, found, strict=True):
            each.sampled.append(to_chains(evidence))
        for each in form_questions:
            if each.plan.words:
                self._choose_value(each)

    def _choose_value(self, form_question: _FormQuestion) -> None:
        """Choose the path that is best for most of the sampled ends: if it leads to values, compare these; if it leads
        to entities and the words are plural, compare their number.
        """
        best = [chain for evidence in form_question.sampled for chain in (self._best(evidence),) if chain is not None]
        how_often = Counter(str(chain.relation_path) for chain in best)
        chain = max(best, key=lambda each: how_often[str(each.relation_path)], default=None)
        if chain is not None and _leads_to_values(chain):
            form_question.value = chain
        elif chain is not None and _is_plural(form_question.plan.words):
            form_question.value, form_question.by_count = chain, True
        else:
            path = f"{chain.relation_path} leads to neither numbers nor dates" if chain else "no relation fits"
            form_question.reason = f"nothing to compare by {form_question.plan.words!r}: {path}"

    def _combine(self, form_questions: Sequence[_FormQuestion]) -> Steps[list[Combined | None]]:
        wanted: list[Combination | None] = [self._combination(each) for each in form_questions]
        requests = [combine_ends(each, self._stored_as, MAX_SHOWN) for each in wanted if each is not None]
        found = iter((yield from together(requests)))
        return [None if each is None else next(found) for each in wanted]

    def _combination(self, form_question: _FormQuestion) -> Combination | None:
        plan = form_question.plan
        missing = [
            (part.text, evidence)
            for part, item, evidence in zip(plan.parts, form_question.chosen, form_question.parts, strict=True)
            if item is None
        ]
        if missing and (not plan.any_of or len(missing) == len(plan.parts)):
            text, evidence = missing[0]
            why = f": {evidence.note}" if evidence.note else ""
            form_question.reason = form_question.reason or f"found nothing for “{text}”{why}"
            form_question.kind = evidence.reason
        if form_question.reason:
            return None
        sets = [
            _end_set(item.value, evidence, negated=part.negated)
            for part, item, evidence in zip(plan.parts, form_question.chosen, form_question.parts, strict=True)
            if item is not None
        ]
        value = tuple(step.step for step in form_question.value.steps) if form_question.value else ()
        if any(len(each.steps) > MAX_STEPS for each in sets) or len(value) > MAX_STEPS:
            form_question.reason = f"a path of more than {MAX_STEPS} triples cannot be combined"
            return None
        within, dates = plan.within, plan.dates
        bound = Bound()
        if within is not None:
            span = dates or replace(within, least=None, most=None)
            bound = Bound(within.least, within.most, span.least, span.most, within.with_least, within.with_most)
        excluded = tuple(
            topic.entity.id
            for topic in form_question.linked.topics
            if plan.excluded and plan.excluded.lower() in {topic.mention.lower(), topic.entity.label.lower()}
        )
        return Combination(tuple(sets), plan.any_of, excluded, value, form_question.by_count, plan.order, bound)

    def _choose_chains(self, form_question: _FormQuestion) -> list[Scored[Chain] | None]:
        """Return the chain of each part: the first of the best whose ends are values or entities, as the form needs.

        If parts differ by a name alone, prefer chains with the same relations.
        """
        plan = form_question.plan
        lists = [
            [
                item
                for item in self._likely_chains(form_question, evidence)
                if _leads_to_values(item.value) == plan.wants_values
            ]
            for evidence in form_question.parts
        ]
        if plan.words:  # a superlative needs several ends
            lists = [[item for item in items if len(item.value.answers) > 1] or items for items in lists]
        if plan.wants_values:
            lists = [
                items or self._likely_chains(form_question, evidence)[:1]
                for items, evidence in zip(lists, form_question.parts, strict=True)
            ]
        firsts = [items[0] if items else None for items in lists]
        if plan.alike and len({str(item.value.relation_path) for item in firsts if item}) > 1:
            by_path = [{str(item.value.relation_path): item for item in reversed(items)} for items in lists]
            shared = set.intersection(*map(set, by_path))
            if shared:
                best = max(sorted(shared), key=lambda path: sum(each[path].score for each in by_path))
                return [each[best] for each in by_path]
        return self._choose_agreeing(form_question, lists) or list(firsts)

    def _choose_agreeing(
        self, form_question: _FormQuestion, lists: Sequence[Sequence[Scored[Chain]]]
    ) -> list[Scored[Chain] | None] | None:
        """Return the first chain of each part, or chains with a common end if several parts must agree on one."""
        parts = form_question.plan.parts
        joined = [at for at, part in enumerate(parts) if not part.negated]
        if form_question.plan.any_of or len(joined) < 2:
            return None
        weighted = [
            [(item, _weight(form_question, form_question.parts[at], item)) for item in lists[at]] for at in joined
        ]
        together = choose_agreeing_chains(weighted)
        if together is None:
            return None
        chosen: list[Scored[Chain] | None] = [items[0] if items else None for items in lists]
        for at, item in zip(joined, together, strict=True):
            chosen[at] = item
        return chosen

    def _likely_chains(self, form_question: _FormQuestion, evidence: Evidence[Chain]) -> list[Scored[Chain]]:
        """Return the best chains that are likely enough."""
        found = []
        for item in evidence.items[:PATHS]:
            probability = _probability(form_question, evidence, item)
            if probability is None or probability >= self._least:
                found.append(item)
        return found

    def _best(self, evidence: Evidence[Chain]) -> Chain | None:
        if not evidence.items:
            return None
        probability = evidence.probability(0)
        return evidence.items[0].value if probability is None or probability >= self._least else None

    def _result(self, form_question: _FormQuestion, combined: Combined | None) -> Formed:
        paths = [
            (part.text, f"{item.value.topic.label}: {item.value.relation_path}" if item else "")
            for part, item in zip(form_question.plan.parts, form_question.chosen, strict=True)
        ]
        if form_question.value is not None:
            paths.append((f"{form_question.plan.words}:", str(form_question.value.relation_path)))
        probabilities = [
            probability
            for evidence, item in zip(form_question.parts, form_question.chosen, strict=True)
            if item is not None and (probability := _probability(form_question, evidence, item)) is not None
        ]
        formed = Formed(
            form_question.plan.forms,
            form_question.plan.rule,
            tuple(paths),
            counted=form_question.plan.counted,
            probability=min(probabilities, default=None),
            reason=form_question.reason,
        )
        if combined is None:
            return formed
        ends = combined.ends
        if form_question.plan.order and ends:
            ends = tuple(end for end in ends if end.key == ends[0].key)
        total = len(ends) if form_question.plan.order else combined.total
        reason = (
            "" if total or form_question.plan.counted else "its paths are in the graph, but no end satisfies all parts"
        )
        return replace(formed, found=tuple(Found(e.entity, e.key) for e in ends), total=total, reason=reason)

    def _evidence(self, form_question: _FormQuestion, formed: Formed) -> Evidence[Chain]:
        """Return the chains behind the result: the best of each part, then that of the value."""
        items = [item for item in form_question.chosen if item is not None]
        if form_question.value is not None:
            items.append(Scored(form_question.value, min((item.score for item in items), default=0.0)))
        first = form_question.parts[0] if form_question.parts else None
        topics = dict.fromkeys(topic for evidence in form_question.parts for topic in evidence.topics)
        return Evidence(
            form_question.linked.question,
            tuple(topics) or form_question.linked.topics,
            "chain",
            tuple(items),
            first.calibration if first else None,
            trace=tuple(cost for evidence in form_question.parts[:1] for cost in evidence.trace),
            reason=form_question.kind,
            form=formed,
        )


def _probability(form_question: _FormQuestion, evidence: Evidence[Chain], item: Scored[Chain]) -> float | None:
    """Return the probability of a part's chain, by its own words or by a path of the whole question that begins with
    it.

    None if the scores have no calibration.
    """
    if evidence.calibration is None:
        return None
    likely = [evidence.calibration.probability(item.score)]
    for place, other in enumerate(form_question.whole.items if form_question.whole else ()):
        assert form_question.whole
        if other.value.topic == item.value.topic and _starts_with(other.value, item.value):
            likely.append(form_question.whole.probability(place) or 0.0)
    return max(likely)


def _weight(form_question: _FormQuestion, evidence: Evidence[Chain], item: Scored[Chain]) -> float:
    probability = _probability(form_question, evidence, item)
    return item.score if probability is None else math.log(max(probability, 1e-9))


def _starts_with(chain: Chain, beginning: Chain) -> bool:
    return tuple(step.step for step in chain.steps[: len(beginning.steps)]) == tuple(s.step for s in beginning.steps)


def _sides(linked: LinkedQuestion) -> list[LinkedQuestion]:
    """Return a yes-or-no question started from each of its two entities; empty if it has only one."""
    both = _both(linked)
    return [
        replace(linked, question=replace(linked.question, topic_entities=(topic.entity.id,)), topics=(topic,))
        for topic in both or ()
    ]


def _both(linked: LinkedQuestion) -> tuple[Topic, Topic] | None:
    """Return the best entities of two different mentions."""
    first = linked.topics[0]
    others = [topic for topic in linked.topics[1:] if _apart(first, topic)]
    return (first, others[0]) if others else None


def _yes_or_no(form_question: _FormQuestion) -> Formed:
    """Answer yes if the best of all paths, from either entity, leads to the other one."""
    both = _both(form_question.linked)
    formed = Formed(form_question.plan.forms, form_question.plan.rule, ())
    if both is None:
        return replace(formed, reason="it needs two entities of the graph, but only one was found")
    best = max(
        ((each.items[0].score, side) for side, each in enumerate(form_question.parts) if each.items),
        default=(0.0, None),
    )[1]
    if best is None:
        return replace(formed, reason="no path leads on from its entities")
    evidence = form_question.parts[best]
    item, other = evidence.items[0], both[1 - best].entity
    form_question.parts, form_question.chosen = [evidence], [item]
    is_there = other.id in {end.id for end in item.value.ends}
    path = f"{both[best].entity.label}: {item.value.relation_path}"
    return replace(
        formed,
        parts=((f"from {both[best].entity.label} to {other.label}?", path),),
        found=(Found(other),) if is_there else (),
        total=int(is_there),
        says="yes" if is_there else NOT_THERE,
        probability=evidence.probability(0),
    )


def _apart(one: Topic, two: Topic) -> bool:
    """Return whether two topics come from different words of the question."""
    words = [set(re.findall(r"\w+", topic.mention.lower())) for topic in (one, two)]
    return one.is_given or two.is_given or not words[0] & words[1]


def _leads_to_values(chain: Chain) -> bool:
    return all(is_value(end.label) for end in chain.answers[:SAMPLED])


def _end_set(chain: Chain, evidence: Evidence[Chain], *, negated: bool) -> EndSet:
    """Return the end set of a chain; if the part names two entities, only the ends where it meets another chain."""
    topic = next((topic for topic in evidence.topics if topic.entity == chain.topic), None)
    is_about_two = topic is not None and any(
        _apart(topic, each) and each.score >= topic.score / 2 for each in evidence.topics if each is not topic
    )
    only = tuple(end.id for end in chain.targets) or None if is_about_two else None
    return EndSet(chain.topic.id, tuple(step.step for step in chain.steps), negated, only)


def _topics_of_text(whole: LinkedQuestion, text: str) -> tuple[str, ...]:
    if not whole.question.topic_entities:
        return ()
    named = tuple(t.entity.id for t in whole.topics if t.entity.label.lower() in text.lower())
    return named or whole.question.topic_entities


def _is_plural(words: str) -> bool:
    return bool(re.search(r"\w{2,}s\b|people\b|children\b", words))
