"""Merge the graph's answer with the answer of a language model alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...models.graphrag_fi import KeyedAnswer, Thresholds, integrate_answers
from ..errors import LLMError
from ..evidence.evidence import NO_ANSWER, Answer, Evidence, Item, make_failed_answer
from ..evidence.text import one_line
from ..llm.prompts import Completed, Prompt, send_prompts
from ..stages import Answerer, Integrator
from ..steps import Steps, gather_steps
from ..values import AnswerEntity, TokenUsage
from .llm import MAX_REPLY_TOKENS, escape_data, make_choice_prompt, read_own_prompt
from .reply import MAX_TEXT_CHARS, add_token_confidence, is_parseable_reply, normalise_name, parse_reply

PROMPT = "closed-book.txt"


class ClosedBookAnswerer:
    """An `Answerer` that asks the language model without evidence; confidences are token probabilities.

    If the endpoint returns no log-probabilities, there is no confidence. A multiple-choice question is answered with
    one of its options.
    """

    def __init__(self) -> None:
        self._template = read_own_prompt(PROMPT)

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return the model's own answer to each question; if it fails, the answer has the failure."""
        completed = yield from send_prompts([self._write_prompt(each) for each in evidence])
        return [self._outcome(each, what) for each, what in zip(evidence, completed, strict=True)]

    def _write_prompt(self, evidence: Evidence[Item]) -> Prompt:
        content = self._template.replace("{question}", escape_data(evidence.question.text.strip()))
        if evidence.question.options:
            return make_choice_prompt(content, evidence.question.options)
        return Prompt(
            content,
            json=True,
            logprobs=True,
            max_tokens=MAX_REPLY_TOKENS,
            is_read=is_parseable_reply,
        )

    def _outcome(self, evidence: Evidence[Item], completed: Completed) -> Answer:
        bare = replace(evidence, items=(), groups=(), walked=())
        if isinstance(completed, LLMError):
            return make_failed_answer(bare, completed)
        answerer = f"closed-book:{completed.model}"
        if completed.refusal is not None:
            text = f"The model refused to answer: {one_line(completed.refusal, MAX_TEXT_CHARS)}"
            return Answer(bare, (), text, answerer, completed.usage)
        try:
            reply = parse_reply(completed.content)
        except LLMError as error:
            return make_failed_answer(bare, error)
        entities = tuple(
            AnswerEntity(claim.name, None, claim.confidence if completed.logprobs else None, "model", ())
            for claim in add_token_confidence(reply.claims, completed.logprobs)
        )
        text = reply.text or ", ".join(entity.name for entity in entities) or NO_ANSWER
        return Answer(bare, entities, text, answerer, completed.usage)


class AnswerIntegrator:
    """An `Integrator` that lists the graph's answers first, in their order, then those that only the model gives.

    Answers with the same normalised name are merged; they have origin ``both``, the id, the evidence and the higher
    confidence. If one side failed, the other's answer is used, with its threshold applied.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds

    def integrate(self, graph: Sequence[Answer], model: Sequence[Answer]) -> Steps[list[Answer]]:
        """Return one answer for each pair, in order."""
        yield from ()
        return [self.integrate_pair(one, two) for one, two in zip(graph, model, strict=True)]

    def integrate_pair(self, graph: Answer, model: Answer) -> Answer:
        """Return the merged answer of two to the same question."""
        kept = integrate_answers(key_entities_by_name(graph), key_entities_by_name(model), self._thresholds)
        entities = tuple(
            _merge_entity(
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
            _add_usage(graph.usage, model.usage),
            failure,
        )


class IntegratingAnswerer:
    """An `Answerer` that asks two answerers at the same time and merges their answers."""

    def __init__(self, graph: Answerer, model: Answerer, integrator: Integrator) -> None:
        self._graph = graph
        self._model = model
        self._integrator = integrator

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return an answer to each question."""
        graph, model = yield from gather_steps(self._graph.answer(evidence), self._model.answer(evidence))
        return (yield from self._integrator.integrate(graph, model))


def key_entities_by_name(answer: Answer) -> list[KeyedAnswer]:
    """Return an answer's entities as claims, keyed by name; entities that share a name are keyed by id as well."""
    ids: dict[str, str | None] = {}
    claims: list[KeyedAnswer] = []
    for entity in answer.entities:
        key = normalise_name(entity.name)
        if ids.setdefault(key, entity.id) != entity.id:
            key = f"{key}\n{entity.id}"
        claims.append(KeyedAnswer(key, entity.confidence))
    return claims


def _merge_entity(graph: AnswerEntity | None, model: AnswerEntity | None) -> AnswerEntity:
    if graph is not None and model is not None:
        known = [each for each in (graph.confidence, model.confidence) if each is not None]
        return replace(graph, origin="both", confidence=max(known, default=None))
    only = graph or model
    assert only is not None
    return only


def _add_usage(one: TokenUsage | None, two: TokenUsage | None) -> TokenUsage | None:
    if one is None or two is None:
        return one or two
    return TokenUsage(one.prompt + two.prompt, one.completion + two.completion)
