"""The answerer that asks a language model, and holds what it says against the evidence."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from .. import answering
from ..chat.gateway import ChatGateway
from ..chat.prompts import Completed, Prompt
from ..errors import InputError, LLMError, UsageError
from ..settings import Settings
from ..values import Answer, Retrieval
from .evidence import MAX_CHARS, MAX_NAMES, evidence_text, one_line
from .extractive import NO_ANSWER
from .reply import MAX_TEXT_CHARS, cited, parse_reply

PLACEHOLDERS = ("question", "evidence")


class LLMAnswerer:
    """Answers by a chat model; every failure is an `LLMError`.

    `prompt_for` and `answer_of` are all it does; `answer` and `aanswer` put a gateway between them. An answer that
    stands on a path carries its id and the paths; any other is the model's own (`origin` = ``model``). A model that
    refuses gives an answer without entities whose text says so. Where the model states no confidence, an answer from
    the graph has 1 / (rank of its best path) and one of its own has 0: an order, not a probability.
    """

    def __init__(
        self,
        chat: ChatGateway,
        *,
        prompt: str | None = None,
        max_names: int = MAX_NAMES,
        max_evidence_chars: int = MAX_CHARS,
    ) -> None:
        """Take whom to ask and how; nothing is sent yet.

        prompt: a template's text with {question} and {evidence}, None for the default. max_names: ends named per path.
        max_evidence_chars: the longest evidence, in characters.
        """
        self.chat = chat
        self._prompt = default_prompt() if prompt is None else checked_prompt(prompt, "the prompt")
        self._max_names = max_names
        self._max_evidence_chars = max_evidence_chars

    @classmethod
    def of(cls, settings: Settings) -> LLMAnswerer:
        """Return the answerer of these settings.

        Raises `LLMError` when the model, or the key of an endpoint that needs one, is missing, `InputError` for a
        prompt file that cannot be read and `UsageError` for one without its placeholders.
        """
        prompt = load_prompt(Path(settings.llm_prompt)) if settings.llm_prompt else None
        return cls(ChatGateway.of(settings), prompt=prompt)

    def answer(self, retrieval: Retrieval) -> Answer:
        """Return the model's answer to the retrieval's question; raises `LLMError`."""
        (completed,) = self.chat.complete([self.prompt_for(retrieval)])
        return self.answer_of(completed, retrieval)

    async def aanswer(self, retrieval: Retrieval) -> Answer:
        """Return the same as `answer` without blocking the event loop."""
        (completed,) = await self.chat.acomplete([self.prompt_for(retrieval)])
        return self.answer_of(completed, retrieval)

    def prompt_for(self, retrieval: Retrieval) -> Prompt:
        """Return what is asked for this retrieval."""
        evidence = evidence_text(retrieval.paths, max_names=self._max_names, max_chars=self._max_evidence_chars)
        return Prompt(filled(self._prompt, question=retrieval.question.text.strip(), evidence=evidence), json=True)

    def answer_of(self, completed: Completed, retrieval: Retrieval) -> Answer:
        """Return the answer that a completion gives; raises `LLMError` where it is one, or cannot be read."""
        if isinstance(completed, LLMError):
            raise completed
        answerer = f"llm:{completed.model}"
        if completed.refusal is not None:
            text = f"The model refused to answer: {one_line(completed.refusal, MAX_TEXT_CHARS)}"
            return Answer(retrieval, (), text, answerer, completed.usage)
        reply = parse_reply(completed.content)
        entities = cited(reply.claims, retrieval)
        text = reply.text or ", ".join(entity.name for entity in entities) or NO_ANSWER
        return Answer(retrieval, entities, text, answerer, completed.usage)


def default_prompt() -> str:
    """Return the prompt that is used where a user gives none: the place to start from for one's own."""
    return files(answering).joinpath("prompt.txt").read_text(encoding="utf-8")


def load_prompt(path: Path) -> str:
    """Return a prompt file's text; raises `InputError` if it cannot be read, `UsageError` without its placeholders."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: the prompt cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected a prompt in UTF-8: {error.reason} at byte {error.start:,}") from error
    return checked_prompt(text, str(path))


def checked_prompt(text: str, where: str) -> str:
    """Return the template; raises `UsageError` when a placeholder is not in it."""
    missing = [f"{{{name}}}" for name in PLACEHOLDERS if f"{{{name}}}" not in text]
    if missing:
        raise UsageError(
            f"{where}: expected the placeholders {{question}} and {{evidence}}, missing: {', '.join(missing)}"
        )
    return text


def filled(template: str, *, question: str, evidence: str) -> str:
    """Return the template with its two placeholders filled; all other braces stay as they are.

    Tags <question> and <evidence> inside the data are opened up, so that data cannot end the section it stands in.
    """
    values = {"question": _as_data(question), "evidence": _as_data(evidence)}
    return re.sub(r"\{(question|evidence)\}", lambda match: values[match[1]], template)


def _as_data(text: str) -> str:
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"<(?=\s*/?\s*(?:evidence|question)\b)", "‹", encodable, flags=re.IGNORECASE)
