"""Take a question of a form apart, ask for its parts, and combine their answers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...models.forms.plan import Plan, is_value
from ...models.forms.reading import read
from ...models.wording.kinds import value_kind
from ..evidence.bridges import to_chains
from ..evidence.calibration import LEAST_PROBABILITY
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Kind, Reason
from ..evidence.extras import FormResult, Found
from ..linking.topics import looked_up
from ..stages import DecidingLinker, Linker, Retriever
from ..steps import Steps, together
from ..values import LinkedQuestion, Question, Scored, Topic
from .ends import MAX_STEPS, Bound, Combination, Combined, EndSet, combine_ends

MAX_COMBINATIONS = 20
"""Combinations that are carried on from part to part."""

Weighted = tuple[Scored[Chain], float]
"""A chain of a part, with the logarithm of its probability; where nobody knows that, with its score."""
_Combination = tuple[float, frozenset[str] | None, list[Scored[Chain]]]


def choose_agreeing_chains(parts: Sequence[Sequence[Weighted]]) -> list[Scored[Chain]] | None:
    """Return a chain of each part, those of the highest joint probability whose ends have one in common; None where
    none have. What a chain's ends leave out of what it leads to is not looked at."""
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
"""Of the ends that are found, those that come back; all are counted."""
SAMPLED = 3
"""Ends that are asked for the property which orders or filters them."""
PATHS = 10
"""Best paths among which one is looked for that leads to what a form needs."""
NOT_THERE = "not in the graph"


@dataclass(slots=True)
class _Asked:
    """A question that is taken apart, with what was found for each part."""

    linked: LinkedQuestion
    plan: Plan
    parts: list[Evidence[Chain]] = field(default_factory=list)
    whole: Evidence[Chain] | None = None
    """What was found for the question as it stands, where it says more of a part than the part's own words."""
    chosen: list[Scored[Chain] | None] = field(default_factory=list)
    """The chain of each part."""
    sampled: list[Evidence[Chain]] = field(default_factory=list)
    value: Chain | None = None
    by_count: bool = False
    reason: str = ""
    kind: Reason | None = None


class FormRetriever:
    """Retrieves plain questions as the retriever inside does, and others part by part; a `Retriever` of chains.

    The evidence of a question with a form consists of the chains behind its answer, with a `FormResult` as its extra. A
    part's chain is its best one; one with a probability below `least` is dropped. Its probability is the maximum of
    that by the part's own words and that of the best path of the whole question which begins with it: "people in Sales"
    names no relation, but their salary in the whole question tells which. At most two more retrievals a batch, and one
    query for each question with a form.

    where_sure: a question keeps its plain evidence if its parts lead to nothing or are less likely than the plain
    evidence, or if it asks how many and a number is found.
    """

    gives: Kind = "chain"

    def __init__(
        self,
        retriever: Retriever,
        linker: Linker,
        stored_as: Mapping[str, str],
        *,
        least: float = LEAST_PROBABILITY,
        where_sure: bool = False,
    ) -> None:
        self._retriever = retriever
        self._linker = linker
        self._stored_as = stored_as
        self._least = least
        self._where_sure = where_sure

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Any]]]:
        """Return the evidence of each question, that of one of a form with what came of it."""
        asked = [self._begun(linked) for linked in questions]
        taken = [each for each in asked if each is not None]
        others = [question for question, each in zip(questions, asked, strict=True) if each is None]
        plain, formed = yield from self._parts(taken, others, top_k)
        rest, done = iter(plain), iter(formed)
        return [next(rest) if each is None else next(done) for each in asked]

    def _begun(self, linked: LinkedQuestion) -> _Asked | None:
        names = [name for topic in linked.topics for name in (topic.mention, topic.entity.label) if name]
        plan = read(linked.question.text, names)
        return None if plan is None or not linked.topics else _Asked(linked, plan)

    def _parts(
        self, asked: Sequence[_Asked], plain: Sequence[LinkedQuestion], top_k: int
    ) -> Steps[tuple[list[Evidence[Any]], list[Evidence[Any]]]]:
        yes_no = [each for each in asked if each.plan.forms == ("yes or no",)]
        others = [each for each in asked if each.plan.forms != ("yes or no",)]
        texts = [(each, part.text) for each in others for part in each.plan.parts]
        linked = yield from self._linked([(each.linked, text) for each, text in texts])
        sides = [side for each in yes_no for side in _sides(each.linked)]
        whole = [each for each in others if self._where_sure or each.plan.words or len(each.plan.parts) > 1]
        whole += yes_no if self._where_sure else []
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
            each.chosen = self._chosen(each)
        yield from self._values(others)
        combined = yield from self._combined(others)
        results = {id(each): _yes_or_no(each) for each in yes_no}
        results |= {id(each): self._result(each, result) for each, result in zip(others, combined, strict=True)}
        return list(found[: len(plain)]), [self._told(each, results[id(each)], top_k) for each in asked]

    def _told(self, asked: _Asked, formed: FormResult, top_k: int) -> Evidence[Any]:
        """Return what came of the form, or the plain evidence where that is surer."""
        if self._where_sure and asked.whole is not None and not _is_sure(asked, formed, self._least):
            return asked.whole.cut_to(top_k)
        return self._evidence(asked, formed)

    def _linked(self, texts: Sequence[tuple[LinkedQuestion, str]]) -> Steps[list[LinkedQuestion]]:
        """Link each part by its own words; where the asker gave ids, by those of them that it names, or else by all."""
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

    def _values(self, asked: Sequence[_Asked]) -> Steps[None]:
        """Find the path from an end to what the ends are ordered or filtered by, by asking some of them for it."""
        questions: list[tuple[_Asked, Question]] = []
        for each in asked:
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
        for each in asked:
            if each.plan.words:
                self._choose_value(each)

    def _choose_value(self, asked: _Asked) -> None:
        """Take the path that is best for most of the ends that were asked: where it leads to values these, where it
        leads to things and the words are a plural how many there are."""
        best = [chain for evidence in asked.sampled for chain in (self._best(evidence),) if chain is not None]
        how_often = Counter(str(chain.relation_path) for chain in best)
        chain = max(best, key=lambda each: how_often[str(each.relation_path)], default=None)
        if chain is not None and _leads_to_values(chain):
            asked.value = chain
        elif chain is not None and _is_plural(asked.plan.words):
            asked.value, asked.by_count = chain, True
        else:
            path = f"{chain.relation_path} leads to neither numbers nor dates" if chain else "no relation fits"
            asked.reason = f"nothing to compare by {asked.plan.words!r}: {path}"

    def _combined(self, asked: Sequence[_Asked]) -> Steps[list[Combined | None]]:
        wanted: list[Combination | None] = [self._combination(each) for each in asked]
        requests = [combine_ends(each, self._stored_as, MAX_SHOWN) for each in wanted if each is not None]
        found = iter((yield from together(requests)))
        return [None if each is None else next(found) for each in wanted]

    def _combination(self, asked: _Asked) -> Combination | None:
        plan = asked.plan
        missing = [
            (part.text, evidence)
            for part, item, evidence in zip(plan.parts, asked.chosen, asked.parts, strict=True)
            if item is None
        ]
        if missing and (not plan.any_of or len(missing) == len(plan.parts)):
            text, evidence = missing[0]
            why = f": {evidence.note}" if evidence.note else ""
            asked.reason = asked.reason or f"nothing was found for “{text}”{why}"
            asked.kind = evidence.reason
        if asked.reason:
            return None
        sets = [
            _end_set(item.value, evidence, negated=part.negated)
            for part, item, evidence in zip(plan.parts, asked.chosen, asked.parts, strict=True)
            if item is not None
        ]
        value = tuple(step.step for step in asked.value.steps) if asked.value else ()
        if any(len(each.steps) > MAX_STEPS for each in sets) or len(value) > MAX_STEPS:
            asked.reason = f"a path of more than {MAX_STEPS} triples cannot be combined"
            return None
        within, dates = plan.within, plan.dates
        bound = Bound()
        if within is not None:
            span = dates or replace(within, least=None, most=None)
            bound = Bound(within.least, within.most, span.least, span.most, within.with_least, within.with_most)
        excluded = tuple(
            topic.entity.id
            for topic in asked.linked.topics
            if plan.excluded and plan.excluded.lower() in {topic.mention.lower(), topic.entity.label.lower()}
        )
        return Combination(tuple(sets), plan.any_of, excluded, value, asked.by_count, plan.order, bound)

    def _chosen(self, asked: _Asked) -> list[Scored[Chain] | None]:
        """Return the chain of each part: of the best ones the first that leads to values, or to things, as the form
        wants it; of parts that differ by a name alone those over the same relations, where there are such."""
        plan = asked.plan
        lists = [
            [item for item in self._likely(asked, evidence) if _leads_to_values(item.value) == plan.wants_values]
            for evidence in asked.parts
        ]
        if plan.words:  # of one thing nobody asks for the greatest
            lists = [[item for item in items if len(item.value.answers) > 1] or items for items in lists]
        if plan.wants_values:
            lists = [
                items or self._likely(asked, evidence)[:1] for items, evidence in zip(lists, asked.parts, strict=True)
            ]
        firsts = [items[0] if items else None for items in lists]
        if plan.alike and len({str(item.value.relation_path) for item in firsts if item}) > 1:
            by_path = [{str(item.value.relation_path): item for item in reversed(items)} for items in lists]
            shared = set.intersection(*map(set, by_path))
            if shared:
                best = max(sorted(shared), key=lambda path: sum(each[path].score for each in by_path))
                return [each[best] for each in by_path]
        return self._together(asked, lists) or list(firsts)

    def _together(self, asked: _Asked, lists: Sequence[Sequence[Scored[Chain]]]) -> list[Scored[Chain] | None] | None:
        """Return the first chains of the parts, those that lead to one thing where one has to fit several parts."""
        parts = asked.plan.parts
        joined = [at for at, part in enumerate(parts) if not part.negated]
        if asked.plan.any_of or len(joined) < 2:
            return None
        weighted = [[(item, _weight(asked, asked.parts[at], item)) for item in lists[at]] for at in joined]
        together = choose_agreeing_chains(weighted)
        if together is None:
            return None
        chosen: list[Scored[Chain] | None] = [items[0] if items else None for items in lists]
        for at, item in zip(joined, together, strict=True):
            chosen[at] = item
        return chosen

    def _likely(self, asked: _Asked, evidence: Evidence[Chain]) -> list[Scored[Chain]]:
        """Return the best chains, as far as they are likely enough to be right."""
        found = []
        for item in evidence.items[:PATHS]:
            probability = _probability(asked, evidence, item)
            if probability is None or probability >= self._least:
                found.append(item)
        return found

    def _best(self, evidence: Evidence[Chain]) -> Chain | None:
        if not evidence.items:
            return None
        probability = evidence.probability(0)
        return evidence.items[0].value if probability is None or probability >= self._least else None

    def _result(self, asked: _Asked, combined: Combined | None) -> FormResult:
        paths = [
            (part.text, f"{item.value.topic.label}: {item.value.relation_path}" if item else "")
            for part, item in zip(asked.plan.parts, asked.chosen, strict=True)
        ]
        if asked.value is not None:
            paths.append((f"{asked.plan.words}:", str(asked.value.relation_path)))
        probabilities = [
            probability
            for evidence, item in zip(asked.parts, asked.chosen, strict=True)
            if item is not None and (probability := _probability(asked, evidence, item)) is not None
        ]
        formed = FormResult(
            asked.plan.forms,
            asked.plan.rule,
            tuple(paths),
            counted=asked.plan.counted,
            probability=min(probabilities, default=None),
            reason=asked.reason,
        )
        if combined is None:
            return formed
        ends = combined.ends
        if asked.plan.order and ends:
            ends = tuple(end for end in ends if end.key == ends[0].key)
        total = len(ends) if asked.plan.order else combined.total
        reason = "" if total or asked.plan.counted else "its paths are in the graph, but no end satisfies all parts"
        return replace(formed, found=tuple(Found(e.entity, e.key) for e in ends), total=total, reason=reason)

    def _evidence(self, asked: _Asked, formed: FormResult) -> Evidence[Chain]:
        """Return the chains that the result rests on: of each part its best, then that of the value."""
        items = [item for item in asked.chosen if item is not None]
        if asked.value is not None:
            items.append(Scored(asked.value, min((item.score for item in items), default=0.0)))
        first = asked.parts[0] if asked.parts else None
        topics = dict.fromkeys(topic for evidence in asked.parts for topic in evidence.topics)
        return Evidence(
            asked.linked.question,
            tuple(topics) or asked.linked.topics,
            "chain",
            tuple(items),
            first.calibration if first else None,
            reason=asked.kind,
            extras=(formed,),
        )


AS_LIKELY = 0.6
"""Of the plain answer's probability what a form's has to have to be taken. Our own choice."""


def _is_sure(asked: _Asked, formed: FormResult, least: float) -> bool:
    """Return whether a form's result is to be taken rather than the plain answer."""
    if formed.reason or (formed.probability is not None and formed.probability < least):
        return False
    whole = asked.whole
    likely = whole.probability(0) if whole is not None and whole.items else None
    if whole is None or likely is None or formed.probability is None or asked.plan.forms == ("yes or no",):
        return True
    if asked.plan.counted and len(asked.plan.forms) == 1 and _leads_to_number(whole.items[0].value):
        return formed.probability > likely
    return formed.probability >= AS_LIKELY * likely


def _leads_to_number(chain: Chain) -> bool:
    return bool(chain.answers) and all(value_kind(end.label) in ("number", "year") for end in chain.answers[:SAMPLED])


def _probability(asked: _Asked, evidence: Evidence[Chain], item: Scored[Chain]) -> float | None:
    """Return how likely a part's chain is right: by its own words, or by those of the whole question on a path that
    begins with it; None where the scores have no calibration."""
    if evidence.calibration is None:
        return None
    likely = [evidence.calibration.probability(item.score)]
    for place, other in enumerate(asked.whole.items if asked.whole else ()):
        assert asked.whole
        if other.value.topic == item.value.topic and _begins(other.value, item.value):
            likely.append(asked.whole.probability(place) or 0.0)
    return max(likely)


def _weight(asked: _Asked, evidence: Evidence[Chain], item: Scored[Chain]) -> float:
    probability = _probability(asked, evidence, item)
    return item.score if probability is None else math.log(max(probability, 1e-9))


def _begins(chain: Chain, beginning: Chain) -> bool:
    return tuple(step.step for step in chain.steps[: len(beginning.steps)]) == tuple(s.step for s in beginning.steps)


def _sides(linked: LinkedQuestion) -> list[LinkedQuestion]:
    """Return a yes-or-no question as asked from each of the two entities that it is about; none where it has one."""
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


def _yes_or_no(asked: _Asked) -> FormResult:
    """Say yes where the best of all paths, from either entity, leads to the other one."""
    both = _both(asked.linked)
    formed = FormResult(asked.plan.forms, asked.plan.rule, ())
    if both is None:
        return replace(formed, reason="it needs two entities of the graph, but only one was found")
    best = max(
        ((each.items[0].score, side) for side, each in enumerate(asked.parts) if each.items), default=(0.0, None)
    )[1]
    if best is None:
        return replace(formed, reason="no path leads on from its entities")
    evidence = asked.parts[best]
    item, other = evidence.items[0], both[1 - best].entity
    asked.parts, asked.chosen = [evidence], [item]
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
    """Whether two topics are of different words of the question."""
    words = [set(re.findall(r"\w+", topic.mention.lower())) for topic in (one, two)]
    return one.is_given or two.is_given or not words[0] & words[1]


def _leads_to_values(chain: Chain) -> bool:
    return all(is_value(end.label) for end in chain.answers[:SAMPLED])


def _end_set(chain: Chain, evidence: Evidence[Chain], *, negated: bool) -> EndSet:
    """Return the ends of a chain; those at which it meets another one alone where the part names two entities."""
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
