"""Say how sure the first answer is, and why there is none: another relation fits and has no triple, or none fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...models.text import RelationWords, find_end_kind
from ...models.wording.answer_kinds import find_wanted_kind, score_kind_agreement
from ..data_model import Chain, RelationPath, RelationStep, Scored, Topic
from ..evidence import (
    LEAST_PROBABILITY,
    UNSTATED,
    AnswerProbabilityFactors,
    Calibration,
    Evidence,
    NoEvidenceExplanation,
)
from ..evidence.text import NO_LABELS, Labels, shorten_relation
from . import PathQuery, PathScorer, merge_mediator_hops, remove_topic_mention

FITS = 0.5
"""A relation whose path of one hop would be an answer that is not unsure. Our own choice."""
MAX_RELATIONS = 40
"""Relations that are scored, of a graph with more the nearest to the question."""
USUAL_MARGIN = 0.25
"""How far a first path usually is above the next one. Our own choice, by the development graphs of ``tests/people``."""
MOST = 0.5
"""By how much margin and lack change a score."""
SAME_SCORE = 0.05
"""Within it a path over the same relations in another direction fits as well, and neither is sure. Our own choice."""
USUAL_RELATIONS = 25
"""Of a graph with more relations, the best of those that are not there fits well by chance: it counts for less."""


@dataclass(frozen=True)
class NoAnswerExplainer:
    """Says how sure the first answer is, and where it is no answer, why.

    The relations of the graph that no topic has, and that no path found leads over, are scored as paths are, as if the
    best path's topic had them. The best of them is said to lack a triple if it fits, and fits better than the best
    path. `nearest` names the relations nearest to a question about a topic, for a graph with many. With `doubts` the
    first answer has `AnswerProbabilityFactors`: P of its score + margin − lacking − `USUAL_MARGIN`. No request is sent.
    """

    scorer: PathScorer
    calibration: Calibration
    relations: Mapping[int, str]
    nearest: Callable[[str, Topic, int], Collection[str]]
    doubts: bool = False
    labels: Labels = field(default_factory=lambda: NO_LABELS)
    words: Mapping[str, RelationWords] = field(default_factory=dict)

    def __call__(self, evidence: Sequence[Evidence[Any]]) -> list[Evidence[Any]]:
        """Return the evidence of each question, with the same items."""
        found = list(evidence)
        places = [at for at, each in enumerate(evidence) if each.topics and (self.doubts or _fails(each))]
        chains = [evidence[at] for at in places]
        for at, each, lacking in zip(places, chains, self._find_lacking(chains), strict=True):
            judged = self._judge(evidence[at], each.items, lacking) if self.doubts else evidence[at]
            found[at] = self._explain(judged, _find_start(each), lacking) if _fails(judged) else judged
        return found

    def _judge(
        self, evidence: Evidence[Any], chains: Sequence[Scored[Chain]], lacking: Scored[str] | None
    ) -> Evidence[Any]:
        if not chains:
            return evidence
        first = chains[0]
        ends = {end.id for end in first.value.answers}
        others = [each for each in chains[1:] if {end.id for end in each.value.answers} != ends]
        margin = min(first.score - (others[0].score if others else float("-inf")), MOST)
        above = min(max(lacking.score - first.score, 0.0), MOST) if lacking else 0.0
        above *= min(1.0, USUAL_RELATIONS / max(len(self.relations), 1))
        probability = self.calibration.probability(first.score + margin - above - USUAL_MARGIN)
        if self._is_another_kind(evidence.question.text, _find_topic(evidence.topics, first.value), first.value):
            probability = min(probability, UNSTATED)
        names = _list_relations(first.value)
        if any(first.score - each.score < SAME_SCORE and _list_relations(each.value) == names for each in others):
            probability = min(probability, UNSTATED)
        said = AnswerProbabilityFactors(
            first.value.topic.id, str(first.value.relation_path), first.score, margin, above, probability
        )
        return replace(
            evidence, extras=(*(e for e in evidence.extras if not isinstance(e, AnswerProbabilityFactors)), said)
        )

    def _is_another_kind(self, question: str, topic: Topic, chain: Chain) -> bool:
        """Return whether a value is asked for and the chain leads to things, or the other way round: "who" to years."""
        if any(step.step.relation not in self.words for step in chain.steps):
            return False
        end = find_end_kind(merge_mediator_hops(chain.relation_path, self.words)[-1])
        return score_kind_agreement(find_wanted_kind(remove_topic_mention(question, topic)), end) <= -1

    def _find_lacking(self, evidence: Sequence[Evidence[Chain]]) -> list[Scored[str] | None]:
        """Return for each question the relation that fits best of those that its topics lack."""
        starts = [_find_start(each) for each in evidence]
        offered = [self._offer(each, start) for each, start in zip(evidence, starts, strict=True)]
        queries = [
            PathQuery(
                each.question.text,
                (start,) * len(steps),
                tuple(RelationPath((step,)) for step in steps),
                (0.0,) * len(steps),
            )
            for each, start, steps in zip(evidence, starts, offered, strict=True)
            if steps
        ]
        scores = iter(self.scorer.score(queries) if queries else [])
        return [_find_best(steps, next(scores).stop.tolist()) if steps else None for steps in offered]

    def _offer(self, evidence: Evidence[Chain], start: Topic) -> list[RelationStep]:
        """Return both directions of the relations that none of the topics has and that lie on no path found."""
        there = {abs(number) for topic in evidence.topics for number in topic.relations}
        used = {step.step.relation for each in evidence.items for step in each.value.steps}
        names = [name for number, name in self.relations.items() if number not in there and name not in used]
        if len(names) > MAX_RELATIONS:
            near = self.nearest(evidence.question.text, start, MAX_RELATIONS)
            names = [name for name in names if name in near]
        return [RelationStep(name, inverse) for name in names for inverse in (False, True)]

    def _explain(self, evidence: Evidence[Any], start: Topic, lacking: Scored[str] | None) -> Evidence[Any]:
        best = max((each.score for each in evidence.items), default=float("-inf"))
        if lacking and lacking.score > best and self.calibration.probability(lacking.score) >= FITS:
            relation, where = shorten_relation(lacking.value, self.labels), start.entity.label
            note = f"{relation} fits the question, and the graph has no triple of it at {where}"
            return replace(evidence, absence=NoEvidenceExplanation(note, "no triple"))
        leads_on = any(topic.relations for topic in evidence.topics)
        note = "no path from its entities ends at an answer" if leads_on else "no path leads on from its entities"
        if evidence.question.filter and leads_on:
            note = "no path from its entities ends at what the filter asks for"
        if evidence.items:
            fits = (evidence.probability(0) or 0.0) >= FITS
            note = "no path fits the question clearly enough" if fits else "no relation fits the question"
        return replace(evidence, absence=NoEvidenceExplanation(note, "no relation fits"))


def _fails(evidence: Evidence[Any]) -> bool:
    return not evidence.items or (evidence.confidence or 0.0) < LEAST_PROBABILITY


def _list_relations(chain: Chain) -> list[str]:
    return [step.step.relation for step in chain.steps]


def _find_start(evidence: Evidence[Chain]) -> Topic:
    """Return the topic of the best path, the first one where there is none."""
    return _find_topic(evidence.topics, evidence.items[0].value) if evidence.items else evidence.topics[0]


def _find_topic(topics: Sequence[Topic], chain: Chain) -> Topic:
    return next((topic for topic in topics if topic.entity == chain.topic), topics[0])


def _find_best(steps: Sequence[RelationStep], scores: Sequence[float]) -> Scored[str]:
    best = max(range(len(steps)), key=lambda at: (scores[at], -at))
    return Scored(steps[best].relation, scores[best])
