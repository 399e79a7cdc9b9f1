"""Say how sure the first answer is, and why there is none: another relation fits and has no triple, or none fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..evidence.bridges import to_chains
from ..evidence.calibration import (
    LEAST_PROBABILITY,
    MOST_LACKING,
    MOST_MARGIN,
    USUAL_RELATIONS,
    Calibration,
    Certainty,
    CertaintyWeights,
)
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Kind
from ..evidence.text import shorten_iris
from ..retrieval.scoring import PathQuery, PathScorer
from ..steps import Steps
from ..values import RelationPath, RelationStep, Scored, Topic
from .absent_relations import AbsentRelations

FITS = 0.5
"""A relation whose path of one hop would be an answer that is not unsure. Our own choice."""
MAX_RELATIONS = 40
"""Relations that are scored, of a graph with more the nearest to the question."""

FITS_MORE = 0.75
"""By how much more than the first path a relation fits that the graph does not have, for the question to ask for it."""
ABSENT_SHARE = 0.2
"""What is left of the certainty then (docs/decisions/0043-what-no-relation-of-the-graph-says.md)."""

Lacking = Scored[str]
"""A relation that the topic does not have, with the score of its path of one hop."""


class NoAnswerExplainer:
    """Says how sure the first answer is, and where it is no answer, why; a `Reorganiser` that changes no items.

    The relations of the graph that no topic has, and that no path found leads over, are scored as paths are, as if the
    best path's topic had them. The best of them is said to lack a triple if it fits, and fits better than the best
    path. With `weights` it also counts against the first answer (`Certainty`). `nearest` names the relations nearest to
    a question about a topic, for a graph with many. `absent` finds relations that the graph does not have at all: one
    that fits far better than a first path whose meaning is known makes that path unlikely to answer. No request is
    sent.
    """

    takes: Kind | None = None
    gives: Kind | None = None

    def __init__(
        self,
        scorer: PathScorer,
        calibration: Calibration,
        relations: Mapping[int, str],
        nearest: Callable[[str, Topic, int], Collection[str]],
        weights: CertaintyWeights | None = None,
        absent: AbsentRelations | None = None,
    ) -> None:
        self._scorer = scorer
        self._calibration = calibration
        self._relations = relations
        self._nearest = nearest
        self._weights = weights
        self._absent = absent

    def reorganise(self, evidence: Sequence[Evidence[Any]]) -> Steps[list[Evidence[Any]]]:
        """Return the evidence with the certainty of its first answer, and with a reason where there is no answer."""
        yield from ()
        places = [at for at, each in enumerate(evidence) if each.topics and (self._weights or _fails(each))]
        found = list(evidence)
        chains = [to_chains(evidence[at]) for at in places]
        all_lacking = self._find_lacking(chains)
        if self._weights:
            for at, each, lacking in zip(places, chains, all_lacking, strict=True):
                found[at] = self._judge(evidence[at], each.items, lacking)
            if self._absent:
                self._count_absent(found, places, chains, self._absent)
        for at, each, lacking in zip(places, chains, all_lacking, strict=True):
            if _fails(found[at]):
                found[at] = self._explain(found[at], _find_start(each), lacking)
        return found

    def _judge(
        self, evidence: Evidence[Any], chains: Sequence[Scored[Chain]], lacking: Lacking | None
    ) -> Evidence[Any]:
        """Return the evidence with the certainty of its first answer."""
        assert self._weights is not None
        if not chains:
            return evidence
        first = chains[0]
        ends = {end.id for end in first.value.answers}
        others = (each.score for each in chains[1:] if {end.id for end in each.value.answers} != ends)
        margin = min(first.score - next(others, float("-inf")), MOST_MARGIN)
        above = lacking.score - first.score if lacking else 0.0
        share = min(1.0, USUAL_RELATIONS / max(len(self._relations), 1))
        gap = share * min(max(above, -MOST_LACKING), MOST_LACKING)
        certainty = Certainty(
            first.value.topic.id,
            str(first.value.relation_path),
            first.score,
            margin,
            gap,
            self._weights.probability(first.score, margin, gap),
        )
        return _with_certainty(evidence, certainty)

    @staticmethod
    def _count_absent(
        found: list[Evidence[Any]],
        places: Sequence[int],
        chains: Sequence[Evidence[Chain]],
        absent: AbsentRelations,
    ) -> None:
        """Lower, in place, the certainty of first answers to questions that ask for what no relation says."""
        sure = [
            (at, each)
            for at, each in zip(places, chains, strict=True)
            if not _fails(found[at]) and absent.is_common(each.items[0].value.steps[-1].step)
        ]
        fits_best = absent.find_best([(each.question.text, _find_start(each)) for _, each in sure])
        for (at, _), best in zip(sure, fits_best, strict=True):
            said = found[at].extra_of(Certainty)
            if best and said and best.score - said.score > FITS_MORE:
                probability = ABSENT_SHARE * said.probability
                found[at] = _with_certainty(found[at], replace(said, probability=probability, absent=best.value))

    def _find_lacking(self, evidence: Sequence[Evidence[Chain]]) -> list[Lacking | None]:
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
        scores = iter(self._scorer.score(queries) if queries else [])
        return [_find_best(steps, next(scores).stop.tolist()) if steps else None for steps in offered]

    def _offer(self, evidence: Evidence[Chain], start: Topic) -> list[RelationStep]:
        """Return both directions of the relations that none of the topics has and that lie on no path found."""
        there = {abs(number) for topic in evidence.topics for number in topic.relations}
        used = evidence.question.excluded_relations.union(
            step.step.relation for each in evidence.items for step in each.value.steps
        )
        names = [name for number, name in self._relations.items() if number not in there and name not in used]
        if len(names) > MAX_RELATIONS:
            near = self._nearest(evidence.question.text, start, MAX_RELATIONS)
            names = [name for name in names if name in near]
        return [RelationStep(name, inverse) for name in names for inverse in (False, True)]

    def _explain(self, evidence: Evidence[Any], start: Topic, lacking: Lacking | None) -> Evidence[Any]:
        """Return the evidence with the reason why there is no answer."""
        best = max((each.score for each in evidence.items), default=float("-inf"))
        if lacking and lacking.score > best and self._calibration.probability(lacking.score) >= FITS:
            where = start.entity.label
            note = f"{shorten_iris(lacking.value)} fits the question, and the graph has no triple of it at {where}"
            return replace(evidence, reason="no triple", note=note)
        if (said := evidence.extra_of(Certainty)) and said.absent:
            note = f"it asks for {said.absent}, and no relation of the graph says that"
            return replace(evidence, reason="no relation fits", note=note)
        leads_on = any(topic.relations for topic in evidence.topics)
        note = "no path from its entities ends at an answer" if leads_on else "no path leads on from its entities"
        if evidence.items:
            fits = (evidence.probability(0) or 0.0) >= FITS
            note = "no path fits the question clearly enough" if fits else "no relation fits the question"
        return replace(evidence, reason="no relation fits", note=note)


def _with_certainty(evidence: Evidence[Any], certainty: Certainty) -> Evidence[Any]:
    return replace(evidence, extras=(*(e for e in evidence.extras if not isinstance(e, Certainty)), certainty))


def _fails(evidence: Evidence[Any]) -> bool:
    return not evidence.items or (evidence.confidence or 0.0) < LEAST_PROBABILITY


def _find_start(evidence: Evidence[Chain]) -> Topic:
    """Return the topic of the best path, the first one where there is none."""
    chains = evidence.items
    of_first = (topic for topic in evidence.topics if chains and topic.entity == chains[0].value.topic)
    return next(of_first, evidence.topics[0])


def _find_best(steps: Sequence[RelationStep], scores: Sequence[float]) -> Lacking:
    best = max(range(len(steps)), key=lambda at: (scores[at], -at))
    return Scored(steps[best].relation, scores[best])
