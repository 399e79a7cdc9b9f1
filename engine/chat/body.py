"""What the body of a 200 reply says: a completion, a refusal, or nothing that can be read."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TypeGuard

from ..values import TokenUsage
from .prompts import Completion, Prompt, UnusableReplyError

MAX_TOKENS = 10**9
"""More than any reply takes."""
MAX_REPLY_CHARS = 100_000
"""Of the text of a reply, so that what reads it takes no time to speak of."""


def completion_in(body: bytes, prompt: Prompt, model: str, name: str) -> Completion:
    """Return what the body says to the prompt; raises `UnusableReplyError`, whose line starts with the model's `name`.

    A reply that was cut off is an error unless the prompt itself set the limit.
    """
    try:
        reply = json.loads(body.decode("utf-8", "replace"))
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise UnusableReplyError(
            f"{name} sent a body that is no chat completion: see whether LODESTAR_LLM_BASE_URL is OpenAI-compatible",
            Completion(""),
        ) from None
    usage = _usage(reply.get("usage"))
    said = Completion(content, usage=usage, model=model)
    if refusal.strip():
        return Completion("", refusal, usage, model=model)
    if finish == "content_filter":
        return Completion("", "its content filter stopped the reply", usage, model=model)
    if finish == "length" and prompt.max_tokens is None:
        raise UnusableReplyError(
            f"{name} was cut off at its output limit: raise the limit on the server, or use another model", said
        )
    if not content.strip():
        raise UnusableReplyError(f"{name} sent an empty reply: try again, or use another model", said)
    if len(content) > MAX_REPLY_CHARS:
        raise UnusableReplyError(
            f"{name} sent a reply of {len(content):,} characters: expected at most {MAX_REPLY_CHARS:,}", said
        )
    return replace(said, logprobs=_logprobs(choice.get("logprobs")))


def _text(said: object) -> str:
    """Return a message's text, which may come in parts, in characters that can be written; empty where it is none."""
    if isinstance(said, list):
        parts = [part.get("text") for part in said if isinstance(part, dict)]
        said = "".join(part for part in parts if isinstance(part, str))
    return said.encode("utf-8", "replace").decode("utf-8") if isinstance(said, str) else ""


def _logprobs(listed: object) -> tuple[tuple[str, float], ...]:
    """Return the tokens of a reply with their log-probabilities; empty where they are not all there, or too many."""
    try:
        tokens = listed["content"] if isinstance(listed, dict) else ()
        found = tuple((_text(token["token"]), _number(token["logprob"])) for token in tokens)
    except (KeyError, TypeError):
        return ()
    is_usable = sum(len(token) for token, _ in found) <= 2 * MAX_REPLY_CHARS  # special tokens are beside the text
    return found if is_usable and all(math.isfinite(logprob) for _, logprob in found) else ()


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def _usage(counted: object) -> TokenUsage | None:
    """Return the tokens that a reply says it took; None where it does not say it as numbers."""
    if not isinstance(counted, dict):
        return None
    prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        return TokenUsage(prompt, completion)
    return None


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
