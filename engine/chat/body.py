"""What the body of a 200 reply says: a completion, a refusal, or nothing that can be read."""

from __future__ import annotations

import json
import math

from ..errors import LLMError
from ..values import TokenUsage
from .prompts import Completion, Prompt


def completion_in(body: str, prompt: Prompt, model: str, name: str) -> Completion:
    """Return what the body says to the prompt; raises `LLMError` in one line that starts with the model's `name`.

    A reply that was cut off is an error unless the prompt itself set the limit.
    """
    try:
        reply = json.loads(body)
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = message.get("content"), message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise LLMError(
            f"{name} sent a body that is no chat completion: see whether LODESTAR_LLM_BASE_URL is OpenAI-compatible"
        ) from None
    usage = _usage(reply.get("usage"))
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if isinstance(refusal, str) and refusal.strip():
        return Completion("", refusal, usage, model=model)
    if finish == "content_filter":
        return Completion("", "its content filter stopped the reply", usage, model=model)
    if finish == "length" and prompt.max_tokens is None:
        raise LLMError(f"{name} was cut off at its output limit: raise the limit on the server, or use another model")
    if not isinstance(content, str) or not content.strip():
        raise LLMError(f"{name} sent an empty reply: try again, or use another model")
    return Completion(content, usage=usage, logprobs=_logprobs(choice.get("logprobs")), model=model)


def _logprobs(listed: object) -> tuple[tuple[str, float], ...]:
    """Return the tokens of a reply with their log-probabilities; empty where they are not all there."""
    tokens = listed.get("content") if isinstance(listed, dict) else None
    try:
        found = tuple((str(token["token"]), float(token["logprob"])) for token in tokens or ())
    except (KeyError, TypeError, ValueError, OverflowError):
        return ()
    return found if all(math.isfinite(logprob) for _, logprob in found) else ()


def _usage(counted: object) -> TokenUsage | None:
    """Return the tokens that a reply says it took; None where it does not say it as numbers."""
    if not isinstance(counted, dict):
        return None
    prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    return TokenUsage(prompt, completion)
