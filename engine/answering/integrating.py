"""Use what a language model knows itself: alone, merged with the graph's answer, or as a source for a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...models.graphrag_fi import KeyedAnswer, Thresholds, integrate_answers
from ..errors import LLMError
from ..evidence.calibration import Calibration
from ..evidence.chain import Chain
from ..evidence.evidence import NO_ANSWER, Answer, Evidence, Item, Kind, make_failed_answer
from ..evidence.extras import FormResult
from ..evidence.text import one_line
from ..llm.prompts import Completed, Prompt, send_prompts
from ..stages import Answerer
from ..steps import Steps, gather_steps
from ..values import AnswerEntity, Entity, Scored, TokenUsage
from .candidates import list_ends
from .llm import (
    MAX_REPLY_TOKENS,
    MAX_TEXT_CHARS,
    add_token_confidence,
    escape_data,
    is_parseable_reply,
    make_choice_prompt,
    normalise_name,
    parse_reply,
    read_own_prompt,
)

PROMPT = "closed-book.txt"


class ClosedBookAnswerer:
    """An `Answerer` that asks the language model without evidence; confidences are token probabilities.

    If the endpoint returns no log-probabilities, there is no confidence. A multiple-choice question is answered with
    one of its options.
    """

    def __init__(self) -> None:
        self._template = read_own_prompt(PROMPT)

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
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


@dataclass(frozen=True)
class IntegratingAnswerer:
    """An `Answerer` that asks two answerers at the same time and merges their answers."""

    graph: Answerer
    model: Answerer
    thresholds: Thresholds

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        graph, model = yield from gather_steps(self.graph.answer(evidence), self.model.answer(evidence))
        return [merge_answers(*pair, self.thresholds) for pair in zip(graph, model, strict=True)]


def merge_answers(graph: Answer, model: Answer, thresholds: Thresholds) -> Answer:
    """Return the merged answer of two to the same question: the graph's answers, then those that only the model gives.

    Answers with the same normalised name are merged; they have origin ``both``, the id, the evidence and the higher
    confidence. If one side failed, the other's answer is used, with its threshold applied.
    """
    kept = integrate_answers(key_entities_by_name(graph), key_entities_by_name(model), thresholds)
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


LLM, CLOSED_BOOK = "llm", "closed-book"
"""Names of the sources: what the model reads in the evidence, and what it knows itself."""
READS = 10
"""Items of a question that answerers are given."""
UNKNOWN = 0.5
"""Stands for the confidence of an answer where the endpoint gives none."""


@dataclass(frozen=True)
class LanguageModelSources:
    """A `Reorganiser`: the items stay as they are, and each answerer's answers are a source under its name.

    A reader weighs them beside what was found (our own). A source has a chain without steps for each name, whose ends
    are the entities of that name among the ends of the evidence, so that no answer is invented. Questions that a form
    has answered are not asked. Where the model fails for a question, the evidence says so and lacks that source.
    """

    answerers: Mapping[str, Answerer]
    reads: int = READS
    takes: Kind | None = None
    gives: Kind | None = None

    def reorganise(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Evidence[Item]]]:
        found = list(evidence)
        asked = [place for place, each in enumerate(found) if each.extra_of(FormResult) is None]
        shown = [found[place].cut_to(self.reads) for place in asked]
        replies = yield from gather_steps(*(each.answer(shown) for each in self.answerers.values()))
        for name, answers in zip(self.answerers, replies, strict=True):
            for place, answer in zip(asked, answers, strict=True):
                found[place] = _add_source(found[place], name, answer)
        return found


def _add_source(evidence: Evidence[Item], name: str, answer: Answer) -> Evidence[Item]:
    if answer.failure is not None:
        return replace(evidence, left_out=(*evidence.left_out, f"{name}: {answer.failure}"))
    entities: dict[str, list[Entity]] = {}
    for end in list_ends(evidence):
        entities.setdefault(normalise_name(end.label), []).append(end)
    items = []
    for each in answer.entities:
        if ends := entities.pop(normalise_name(each.name), None):
            topic = evidence.topics[0].entity if evidence.topics else ends[0]
            confidence = UNKNOWN if each.confidence is None else each.confidence
            items.append(Scored(Chain(topic, (), tuple(ends)), confidence))
    items.sort(key=lambda item: -item.score)
    source: Evidence[Item] = Evidence(
        evidence.question, evidence.topics, "chain", tuple(items), Calibration("probability")
    )
    return replace(evidence, sources=(*evidence.sources_or_self(evidence.kind), (name, source)))
