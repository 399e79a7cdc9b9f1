"""Integration: the graph's answer and the model's own, put together by their confidences (GraphRAG-FI, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...models.graphrag_fi.integration import Claim, Thresholds, integrated
from ..evidence.answer import NO_ANSWER, Answer
from ..evidence.evidence import Evidence, Item
from ..stages import Answerer, Integrator
from ..steps import Steps, side_by_side
from ..values import AnswerEntity, TokenUsage
from .reply import normalised


class Integrating:
    """An `Integrator` of any two answerers' answers: the graph's first, in their order, then what the model adds.

    Answers are one where their names are spelled alike (`normalised`); what both keep has origin ``both``, with the id,
    the evidence and the greater confidence. Where one side failed the other's answer is taken, held to its threshold.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds

    def integrate(self, graph: Sequence[Answer], model: Sequence[Answer]) -> Steps[list[Answer]]:
        """Return one answer for each pair, in order."""
        yield from ()
        return [self.integrated(one, two) for one, two in zip(graph, model, strict=True)]

    def integrated(self, graph: Answer, model: Answer) -> Answer:
        """Return one answer of two to the same question."""
        kept = integrated(claims_of(graph), claims_of(model), self._thresholds)
        entities = tuple(
            _entity(
                None if answer.graph is None else graph.entities[answer.graph],
                None if answer.model is None else model.entities[answer.model],
            )
            for answer in kept
        )
        text = ", ".join(entity.name for entity in entities) or f"{NO_ANSWER}: neither the graph nor the model is sure"
        failure = graph.failure if not entities else None
        return Answer(
            graph.evidence,
            entities,
            graph.text if failure else text,
            f"{graph.answerer} + {model.answerer}",
            _total(graph.usage, model.usage),
            failure,
        )


class WithOwnKnowledge:
    """An `Answerer` that asks two of them at the same time and integrates what they say."""

    def __init__(self, graph: Answerer, model: Answerer, integrator: Integrator) -> None:
        self._graph = graph
        self._model = model
        self._integrator = integrator

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return an answer to each question."""
        graph, model = yield from side_by_side(self._graph.answer(evidence), self._model.answer(evidence))
        return (yield from self._integrator.integrate(graph, model))


def claims_of(answer: Answer) -> list[Claim]:
    """Return an answer's entities as claims, keyed by name; other entities of the same name have their ids as well."""
    ids: dict[str, str | None] = {}
    claims: list[Claim] = []
    for entity in answer.entities:
        key = normalised(entity.name)
        if ids.setdefault(key, entity.id) != entity.id:
            key = f"{key}\n{entity.id}"
        claims.append(Claim(key, entity.confidence))
    return claims


def _entity(graph: AnswerEntity | None, model: AnswerEntity | None) -> AnswerEntity:
    if graph is not None and model is not None:
        known = [each for each in (graph.confidence, model.confidence) if each is not None]
        return replace(graph, origin="both", confidence=max(known, default=None))
    only = graph or model
    assert only is not None
    return only


def _total(one: TokenUsage | None, two: TokenUsage | None) -> TokenUsage | None:
    if one is None or two is None:
        return one or two
    return TokenUsage(one.prompt + two.prompt, one.completion + two.completion)
