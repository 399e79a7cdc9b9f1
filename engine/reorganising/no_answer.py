"""Explain why no answer was found: no relation of the graph fits, or one fits and has no triple at the topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..evidence.calibration import LEAST_PROBABILITY, Calibration
from ..evidence.evidence import Evidence, Kind
from ..retrieval.scoring import PathQuery, PathScorer
from ..steps import Steps
from ..values import RelationPath, Step, Topic

FITS = 0.5
"""A relation whose path of one hop would be an answer that is not unsure. Our own choice."""
MAX_RELATIONS = 200
"""Relations that are scored, of a graph with more the nearest to the question."""


class NoAnswerExplainer:
    """Says why, where the best item is no answer; a `Reorganiser` that changes no items.

    The relations of the graph are scored as paths are, as if the best topic had them: the best one that fits and that
    no topic has is the one that lacks a triple. `nearest` names the relations nearest to a question about a topic, for
    a graph with many. No request is sent.
    """

    takes: Kind | None = None
    gives: Kind | None = None

    def __init__(
        self,
        scorer: PathScorer,
        calibration: Calibration,
        relations: Mapping[int, str],
        nearest: Callable[[str, Topic, int], Collection[str]],
    ) -> None:
        self._scorer = scorer
        self._calibration = calibration
        self._relations = relations
        self._nearest = nearest

    def reorganise(self, evidence: Sequence[Evidence[Any]]) -> Steps[list[Evidence[Any]]]:
        """Return the evidence, with a reason where there is no answer."""
        yield from ()
        failed = [
            at
            for at, each in enumerate(evidence)
            if each.topics and (not each.items or (each.probability(0) or 0.0) < LEAST_PROBABILITY)
        ]
        found = list(evidence)
        for at, relation in zip(failed, self._lacking([evidence[at] for at in failed]), strict=True):
            found[at] = _said(evidence[at], relation)
        return found

    def _lacking(self, failed: Sequence[Evidence[Any]]) -> list[str]:
        """Return for each question the relation that fits best and that its topics lack; "" where none does."""
        offered = [self._offered(each) for each in failed]
        queries = [
            PathQuery(
                each.question.text,
                (each.topics[0],) * len(steps),
                tuple(RelationPath((step,)) for step in steps),
                (0.0,) * len(steps),
            )
            for each, steps in zip(failed, offered, strict=True)
            if steps
        ]
        scores = iter(self._scorer.score(queries) if queries else [])
        return [self._best(steps, next(scores).stop.tolist()) if steps else "" for steps in offered]

    def _best(self, steps: Sequence[Step], scores: Sequence[float]) -> str:
        best = max(range(len(steps)), key=lambda at: (scores[at], -at))
        return steps[best].relation if self._calibration.probability(scores[best]) >= FITS else ""

    def _offered(self, evidence: Evidence[Any]) -> list[Step]:
        """Return both directions of the relations that none of the topics has."""
        there = {abs(number) for topic in evidence.topics for number in topic.relations}
        names = [
            name
            for number, name in self._relations.items()
            if number not in there and name not in evidence.question.excluded_relations
        ]
        if len(names) > MAX_RELATIONS:
            near = self._nearest(evidence.question.text, evidence.topics[0], MAX_RELATIONS)
            names = [name for name in names if name in near]
        return [Step(name, inverse) for name in names for inverse in (False, True)]


def _said(evidence: Evidence[Any], relation: str) -> Evidence[Any]:
    if relation:
        where = evidence.topics[0].entity.label
        note = f"{relation} fits the question, and the graph has no triple of it at {where}"
        return replace(evidence, reason="no triple", note=note)
    note = "no relation fits the question" if evidence.items else "no path leads on from its entities"
    return replace(evidence, reason="no relation fits", note=note)
