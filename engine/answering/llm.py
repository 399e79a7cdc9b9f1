"""Answer with a language model, and cite the evidence that supports its answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from .. import answering
from ..errors import LLMError, UsageError
from ..evidence.evidence import NO_ANSWER, Answer, Evidence, Item, make_failed_answer
from ..evidence.text import MAX_CHARS, MAX_NAMES, Order, evidence_text, one_line
from ..llm.prompts import Completed, Prompt, send_prompts
from ..steps import Steps
from ..whole_file import read_text
from .candidates import list_ends
from .reply import MAX_TEXT_CHARS, add_token_confidence, cite_claims, is_reply, parse_reply

PLACEHOLDERS = ("question", "evidence")
MAX_CHOICES = 20


class LLMAnswerer:
    """Answers with a chat model; if it fails for a question, that answer has the failure.

    An answer that is in the evidence has its id and items; any other is the model's own (`origin` = ``model``). If the
    model refuses, the answer has no entities, and its text says so. Confidences are the probabilities of the answers'
    tokens; if the endpoint returns none, what the model states.
    """

    def __init__(
        self,
        *,
        prompt: str | None = None,
        order: Order = "best-first",
        max_names: int = MAX_NAMES,
        max_evidence_chars: int = MAX_CHARS,
        chooses: bool = False,
    ) -> None:
        """Take how to ask.

        prompt: a template's text with {question} and {evidence}, None for the default. order: of the evidence in it.
        max_names: ends named per chain.
        max_evidence_chars: the longest evidence, in characters. chooses: whether the model may only answer with the
        first `MAX_CHOICES` names at the ends of the evidence.
        """
        self._prompt = read_default_prompt() if prompt is None else check_prompt(prompt, "the prompt")
        self._order: Order = order
        self._max_names = max_names
        self._max_evidence_chars = max_evidence_chars
        self._chooses = chooses

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return the model's answer to each question."""
        completed = yield from send_prompts([self.write_prompt(each) for each in evidence])
        return [self._outcome(each, what) for each, what in zip(evidence, completed, strict=True)]

    def write_prompt(self, evidence: Evidence[Item]) -> Prompt:
        """Return the prompt for this evidence."""
        text = evidence_text(
            evidence.items,
            evidence.groups,
            order=self._order,
            max_names=self._max_names,
            max_chars=self._max_evidence_chars,
        )
        question = evidence.question.text.strip()
        content = fill_placeholders(self._prompt, question=question, evidence=text)
        choices = list_choices(evidence) if self._chooses else ()
        unseen = fill_placeholders(self._prompt, question=question, evidence="") if choices else ""
        return Prompt(content, json=True, logprobs=True, choices=choices, unseen=unseen, is_read=is_reply)

    def answer_of(self, completed: Completed, evidence: Evidence[Item]) -> Answer:
        """Return the answer in a completion; raise `LLMError` if the completion is an error or cannot be read."""
        if isinstance(completed, LLMError):
            raise completed
        answerer = f"llm:{completed.model}"
        if completed.refusal is not None:
            text = f"The model refused to answer: {one_line(completed.refusal, MAX_TEXT_CHARS)}"
            return Answer(evidence, (), text, answerer, completed.usage)
        reply = parse_reply(completed.content)
        entities = cite_claims(add_token_confidence(reply.claims, completed.logprobs), evidence)
        text = reply.text or ", ".join(entity.name for entity in entities) or NO_ANSWER
        return Answer(evidence, entities, text, answerer, completed.usage)

    def _outcome(self, evidence: Evidence[Item], completed: Completed) -> Answer:
        try:
            return self.answer_of(completed, evidence)
        except LLMError as error:
            return make_failed_answer(evidence, error)


def list_choices(evidence: Evidence[Item]) -> tuple[str, ...]:
    """Return the first `MAX_CHOICES` names at ends of the evidence that are no topics, the best item's first."""
    topics = {topic.entity.id for topic in evidence.topics}
    ends = (each for each in list_ends(evidence) if not each.is_mediator and each.id not in topics)
    return tuple(dict.fromkeys(one_line(entity.label) for entity in ends))[:MAX_CHOICES]


def read_default_prompt() -> str:
    """Return the default prompt, from which you can start your own."""
    return files(answering).joinpath("prompt.txt").read_text(encoding="utf-8")


def load_prompt(path: Path) -> str:
    """Return a prompt file's text; raise `InputError` if it cannot be read, `UsageError` without its placeholders."""
    return check_prompt(read_text(path, "the prompt"), str(path))


def check_prompt(text: str, where: str) -> str:
    """Return the template; raise `UsageError` if a placeholder is missing."""
    missing = [f"{{{name}}}" for name in PLACEHOLDERS if f"{{{name}}}" not in text]
    if missing:
        raise UsageError(
            f"{where}: expected the placeholders {{question}} and {{evidence}}, missing: {', '.join(missing)}"
        )
    return text


def fill_placeholders(template: str, *, question: str, evidence: str) -> str:
    """Return the template with its two placeholders filled; all other braces stay as they are.

    Tags <question> and <evidence> inside the data are escaped, so that data cannot end its section.
    """
    values = {"question": escape_data(question), "evidence": escape_data(evidence)}
    return re.sub(r"\{(question|evidence)\}", lambda match: values[match[1]], template)


def escape_data(text: str) -> str:
    """Return external text, escaped so that it cannot end its section of the template."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"<(?=\s*/?\s*(?:evidence|question)\b)", "‹", encodable, flags=re.IGNORECASE)
