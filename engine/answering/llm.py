"""The answerer that asks a language model, and holds what it says against the evidence."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from .. import answering
from ..errors import InputError, LLMError, UsageError
from ..settings import Settings
from ..values import Answer, Retrieval
from .chat import ChatEndpoint, Completion
from .evidence import MAX_CHARS, MAX_NAMES, evidence_text, one_line
from .extractive import NO_ANSWER
from .reply import MAX_TEXT_CHARS, cited, parse_reply

PLACEHOLDERS = ("question", "evidence")
CHECK_TIMEOUT_S = 5.0


class LLMAnswerer:
    """Answers by a chat model behind any OpenAI-compatible endpoint; every failure is an `LLMError`.

    An answer that stands on a path carries its id and the paths; any other is the model's own (`origin` = ``model``). A
    model that refuses gives an answer without entities whose text says so. Where the model states no confidence, an
    answer from the graph has 1 / (rank of its best path) and one of its own has 0: an order, not a probability.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str = "",
        timeout_s: float = 60.0,
        max_retries: int = 2,
        prompt: str | None = None,
        temperature: float | None = 0.0,
        max_names: int = MAX_NAMES,
        max_evidence_chars: int = MAX_CHARS,
    ) -> None:
        """Take where the model is and how to ask it; nothing is sent yet.

        base_url: empty means OpenAI's own. timeout_s: for each attempt, the longest wait for the next bytes.
        prompt: a template's text with {question} and {evidence}, None for the default. temperature: None sends none.
        max_names: ends named per path. max_evidence_chars: the longest evidence, in characters.
        """
        self._prompt = default_prompt() if prompt is None else checked_prompt(prompt, "the prompt")
        self._max_names = max_names
        self._max_evidence_chars = max_evidence_chars
        self._endpoint = ChatEndpoint(
            base_url=base_url,
            model=model,
            api_key=api_key,
            timeout_s=timeout_s,
            max_retries=max_retries,
            temperature=temperature,
        )

    @classmethod
    def of(cls, settings: Settings) -> LLMAnswerer:
        """Return the answerer of these settings.

        Raises `LLMError` when the model, or the key of an endpoint that needs one, is missing, `InputError` for a
        prompt file that cannot be read and `UsageError` for one without its placeholders.
        """
        return cls(
            base_url=settings.llm_base_url,
            model=settings.llm_model,
            api_key=settings.llm_api_key,
            timeout_s=settings.llm_timeout_s,
            prompt=load_prompt(Path(settings.llm_prompt)) if settings.llm_prompt else None,
        )

    def answer(self, retrieval: Retrieval) -> Answer:
        """Return the model's answer to the retrieval's question; raises `LLMError`."""
        return self._answer(self._endpoint.complete(self.prompt_for(retrieval)), retrieval)

    async def aanswer(self, retrieval: Retrieval) -> Answer:
        """Return the same as `answer` without blocking the event loop."""
        return self._answer(await self._endpoint.acomplete(self.prompt_for(retrieval)), retrieval)

    def prompt_for(self, retrieval: Retrieval) -> str:
        """Return the message that is sent for this retrieval."""
        evidence = evidence_text(retrieval.paths, max_names=self._max_names, max_chars=self._max_evidence_chars)
        return filled(self._prompt, question=retrieval.question.text.strip(), evidence=evidence)

    def _answer(self, completion: Completion, retrieval: Retrieval) -> Answer:
        answerer = f"llm:{self._endpoint.model}"
        if completion.refusal is not None:
            text = f"The model refused to answer: {one_line(completion.refusal, MAX_TEXT_CHARS)}"
            return Answer(retrieval, (), text, answerer, completion.usage)
        reply = parse_reply(completion.content)
        entities = cited(reply.claims, retrieval)
        text = reply.text or ", ".join(entity.name for entity in entities) or NO_ANSWER
        return Answer(retrieval, entities, text, answerer, completion.usage)


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


def check(settings: Settings) -> str:
    """Return one line about the language model for `lodestar doctor`; what is wrong is said, not raised."""
    if not (settings.llm_model or settings.llm_base_url):
        return "not configured: answers come from the graph alone; set LODESTAR_LLM_MODEL to use one"
    try:
        endpoint = LLMAnswerer.of(settings)._endpoint
        listed = endpoint.models(min(settings.llm_timeout_s, CHECK_TIMEOUT_S))
    except (LLMError, InputError, UsageError) as error:
        return str(error)
    if listed is None:
        return f"{endpoint.where} is reachable and keeps no list of models"
    if endpoint.model in listed:
        return f"{endpoint.where} is reachable and lists {endpoint.model!r}"
    return f"{endpoint.where} is reachable but does not list {endpoint.model!r}: check LODESTAR_LLM_MODEL"


def _as_data(text: str) -> str:
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"<(?=\s*/?\s*(?:evidence|question)\b)", "‹", encodable, flags=re.IGNORECASE)
