"""Read an endpoint's replies, whole or as server-sent events."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..values import TokenUsage
from .prompts import Completion, Prompt, UnusableReplyError, drop_cut_line

MAX_TOKENS = 10**9
"""More tokens than any reply has."""
MAX_REPLY_CHARS = 100_000
"""Of the text of a reply, so that parsing it takes little time."""

STREAM_OPTIONS: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks an endpoint for events; one that knows none of it replies as a whole."""
_CUT = "cut"
"""The finish reason of a stream that ends without one, and without the event that ends streams."""


def parse_completion(body: bytes, prompt: Prompt, model: str, name: str) -> Completion:
    """Return the completion in a response body. Raises `UnusableReplyError`, whose message starts with the model's
    `name`.

    A reply that was cut off is an error unless the prompt itself set the limit and the caller can read it so; one that
    should be JSON, and is lines instead, lacks the last of them.
    """
    try:
        reply = json.loads(body.decode("utf-8", "replace"))
        if isinstance(reply, dict) and reply.get("error") and not reply.get("choices"):
            raise UnusableReplyError(f"{name} replied with an error: see its log, or try again", Completion(""))
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise UnusableReplyError(
            f"{name} sent a body that is no chat completion: check that LODESTAR_LLM_BASE_URL is OpenAI-compatible",
            Completion(""),
        ) from None
    if finish == "length" and prompt.json:
        content = drop_cut_line(content)
    usage = _usage(reply.get("usage"))
    completion = Completion(content, usage=usage, model=model)
    if refusal.strip():
        return Completion("", refusal, usage, model=model)
    if finish == "content_filter":
        return Completion("", "its content filter stopped the reply", usage, model=model)
    if finish == "length" and (prompt.max_tokens is None or not prompt.is_read(content)):
        limit = f"{prompt.max_tokens} tokens: " if prompt.max_tokens else "the server's output limit: raise it, or "
        raise UnusableReplyError(f"{name} was cut off at {limit}use another model", completion)
    if finish == _CUT:
        raise UnusableReplyError(f"{name} stopped in the middle of its reply: try again", completion)
    if not content.strip():
        raise UnusableReplyError(f"{name} sent an empty reply: try again, or use another model", completion)
    if len(content) > MAX_REPLY_CHARS:
        raise UnusableReplyError(
            f"{name} sent a reply of {len(content):,} characters: expected at most {MAX_REPLY_CHARS:,}", completion
        )
    return replace(completion, logprobs=_logprobs(choice.get("logprobs")))


def merge_events(lines: Iterable[str], on_text: Callable[[str], None]) -> bytes:
    """Return the lines of a stream of events as the body of a reply that came as a whole; any other body as it is.

    Each piece of text is told as it comes. The finish reason is `_CUT` if the events end in the middle.
    """
    said = {"content": "", "refusal": ""}
    finish: str | None = None
    usage = None
    logprobs: list[Any] = []
    others: list[str] = []
    for line in lines:
        chunk = _chunk(line)
        if chunk is None:
            others += [line] if not line.startswith("data:") else []
            finish = finish or ("stop" if line.strip() == "data: [DONE]" else None)
            continue
        usage = chunk.get("usage") or usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        finish = choice.get("finish_reason") or finish
        if isinstance(tokens := choice.get("logprobs"), dict) and isinstance(tokens.get("content"), list):
            logprobs += tokens["content"]
        delta = choice.get("delta")
        texts = (
            {name: delta[name] for name in said if isinstance(delta.get(name), str)} if isinstance(delta, dict) else {}
        )
        for name, text in texts.items():
            said[name] += text
        if texts.get("content"):
            on_text(texts["content"])
    if finish is None and not any(said.values()) and any(map(str.strip, others)):
        return "\n".join(others).encode()
    choice = {"message": said, "finish_reason": finish or _CUT}
    choice["logprobs"] = {"content": logprobs} if logprobs else None
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def _chunk(line: str) -> dict[str, Any] | None:
    """Return the data of a line of events; None for any other line."""
    try:
        chunk = json.loads(line[5:]) if line.startswith("data:") else None
    except (ValueError, RecursionError):
        return None
    return chunk if isinstance(chunk, dict) else None


def _text(content: object) -> str:
    """Return a message's text, which may come in parts, as valid UTF-8; empty if it has none."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content.encode("utf-8", "replace").decode("utf-8") if isinstance(content, str) else ""


def _logprobs(listed: object) -> tuple[tuple[str, float], ...]:
    """Return the tokens of a reply with their log-probabilities; empty if some are missing or there are too many.

    Endpoints write a token that ends within a character in their own ways, but say its bytes: the character then stands
    at its last token.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        tokens = listed["content"] if isinstance(listed, dict) else ()
        found = tuple((_token_text(token, decoder), float(token["logprob"])) for token in tokens)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return ()
    is_usable = sum(len(token) for token, _ in found) <= 2 * MAX_REPLY_CHARS  # special tokens are not in the text
    return found if is_usable and all(math.isfinite(logprob) for _, logprob in found) else ()


def _token_text(token: dict[str, Any], decoder: codecs.IncrementalDecoder) -> str:
    listed = token.get("bytes")
    return decoder.decode(bytes(listed)) if isinstance(listed, list) else _text(token["token"])


def _usage(counted: object) -> TokenUsage | None:
    """Return the reported token counts of a reply; None if they are missing or no numbers."""
    if not isinstance(counted, dict):
        return None
    tokens = [counted.get(f"{what}_tokens") for what in ("prompt", "completion")]
    sound = [n for n in tokens if type(n) is int and 0 <= n <= MAX_TOKENS]
    return TokenUsage(*sound) if len(sound) == len(tokens) else None
