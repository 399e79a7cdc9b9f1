"""Use what a language model knows itself: alone, or merged with the graph's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...models import one_line
from ...models.graphrag_fi import ConfidenceThresholds, KeyedAnswer, integrate_answers
from ..data_model import AnswerEntity
from ..errors import LLMError
from ..evidence import NO_ANSWER, Answer, Evidence, Item, make_failed_answer
from ..llm import MAX_REPLY_TOKENS, Completed, Prompt, TokenUsage
from ..parts import Answerer, part
from .llm import (
    MAX_TEXT_CHARS,
    add_token_confidence,
    escape_prompt_text,
    is_parseable_reply,
    make_multiple_choice_prompt,
    normalise_name,
    parse_reply,
    read_bundled_prompt,
)

if TYPE_CHECKING:
    from ..context import Context
    from ..resources import GraphResources


@part("closed-book")
@dataclass(frozen=True)
class ClosedBookAnswerer(Answerer):
    """Answers with what a language model knows itself; the evidence is not shown to it.

    Confidences are token probabilities; there are none if the endpoint returns no log-probabilities. A multiple-choice
    question is answered with one of its options.
    """

    def open(self, graph: GraphResources) -> None:
        _ = graph.shared.chat

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        prompts = [self._make_prompt(each) for each in evidence]
        return [self._outcome(*each) for each in zip(evidence, ctx.complete(prompts), strict=True)]

    def _make_prompt(self, evidence: Evidence[Item]) -> Prompt:
        content = read_bundled_prompt("closed-book.txt").replace(
            "{question}", escape_prompt_text(evidence.question.text.strip())
        )
        if evidence.question.options:
            return make_multiple_choice_prompt(content, evidence.question.options)
        return Prompt(content, json=True, logprobs=True, max_tokens=MAX_REPLY_TOKENS, is_read=is_parseable_reply)

    def _outcome(self, evidence: Evidence[Item], completed: Completed) -> Answer:
        bare = replace(evidence, items=())
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


def merge_with_model_answers(
    ctx: Context, evidence: Sequence[Evidence[Item]], answerer: Any, thresholds: ConfidenceThresholds
) -> list[Answer]:
    """Return an answerer's answers merged with what the model knows itself."""
    own = ClosedBookAnswerer()(ctx, evidence)
    return [merge_answers(*pair, thresholds) for pair in zip(answerer(ctx, evidence), own, strict=True)]


def merge_answers(graph: Answer, model: Answer, thresholds: ConfidenceThresholds) -> Answer:
    """Return the merged answer of two to the same question: the graph's answers, then those that only the model gives.

    Answers with the same normalised name are merged; they have origin ``both``, the id, the evidence and the higher
    confidence. If one side failed, the other's answer is used, with its threshold applied.
    """
    kept = integrate_answers(list_keyed_answers(graph), list_keyed_answers(model), thresholds)
    entities = tuple(
        _merge_entity(None if own is None else graph.entities[own], None if other is None else model.entities[other])
        for own, other in kept
    )
    text = ", ".join(entity.name for entity in entities) or f"{NO_ANSWER}: neither the graph nor the model is sure"
    failure = graph.failure if not entities else None
    usage = graph.usage or model.usage
    if graph.usage and model.usage:
        usage = TokenUsage(graph.usage.prompt + model.usage.prompt, graph.usage.completion + model.usage.completion)
    return Answer(
        graph.evidence,
        entities,
        graph.text if failure else text,
        f"{graph.answerer} + {model.answerer}",
        usage,
        failure,
    )


def list_keyed_answers(answer: Answer) -> list[KeyedAnswer]:
    """Return an answer's entities as claims, keyed by name; entities that share a name are keyed by id as well."""
    ids: dict[str, str | None] = {}
    claims: list[KeyedAnswer] = []
    for entity in answer.entities:
        key = normalise_name(entity.name)
        if ids.setdefault(key, entity.id) != entity.id:
            key = f"{key}\n{entity.id}"
        claims.append((key, entity.confidence))
    return claims


def _merge_entity(graph: AnswerEntity | None, model: AnswerEntity | None) -> AnswerEntity:
    if graph is not None and model is not None:
        known = [each for each in (graph.confidence, model.confidence) if each is not None]
        return replace(graph, origin="both", confidence=max(known, default=None))
    only = graph or model
    assert only is not None
    return only
