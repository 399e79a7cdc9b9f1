"""The answerer that asks a language model what it knows itself, without any evidence (GraphRAG-FI's A_L)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from .. import answering
from ..chat.prompts import Completed, Prompt, prompted
from ..errors import LLMError
from ..evidence.answer import NO_ANSWER, Answer, failed
from ..evidence.evidence import Evidence, Item
from ..evidence.text import one_line
from ..steps import Steps
from ..values import AnswerEntity
from .llm import as_data
from .reply import MAX_TEXT_CHARS, is_reply, parse_reply, sure_of

PROMPT = "closed-book.txt"


class ClosedBook:
    """An `Answerer` that does not show the evidence: answers are the model's own, with the probability of their tokens.

    Where the endpoint gives no log-probabilities there is no confidence: nothing says how sure the model is.
    """

    def __init__(self) -> None:
        self._template = files(answering).joinpath(PROMPT).read_text(encoding="utf-8")

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return the model's own answer to each question; one for which that fails has the failure."""
        completed = yield from prompted([self._prompt_for(each) for each in evidence])
        return [self._outcome(each, what) for each, what in zip(evidence, completed, strict=True)]

    def _prompt_for(self, evidence: Evidence[Item]) -> Prompt:
        question = as_data(evidence.question.text.strip())
        return Prompt(self._template.replace("{question}", question), json=True, logprobs=True, is_read=is_reply)

    def _outcome(self, evidence: Evidence[Item], completed: Completed) -> Answer:
        bare = replace(evidence, items=(), groups=(), walked=())
        if isinstance(completed, LLMError):
            return failed(bare, completed)
        answerer = f"closed-book:{completed.model}"
        if completed.refusal is not None:
            text = f"The model refused to answer: {one_line(completed.refusal, MAX_TEXT_CHARS)}"
            return Answer(bare, (), text, answerer, completed.usage)
        try:
            reply = parse_reply(completed.content)
        except LLMError as error:
            return failed(bare, error)
        entities = tuple(
            AnswerEntity(claim.name, None, claim.confidence if completed.logprobs else None, "model", ())
            for claim in sure_of(reply.claims, completed.logprobs)
        )
        text = reply.text or ", ".join(entity.name for entity in entities) or NO_ANSWER
        return Answer(bare, entities, text, answerer, completed.usage)
