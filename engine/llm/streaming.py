"""Read a reply that comes as server-sent events: tell its text piece by piece, and return it as one body."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

STREAM_OPTIONS: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks an endpoint for events, by the names in the protocol; one that knows none of it replies as a whole."""

_listener: ContextVar[Callable[[bytes], None] | None] = ContextVar("listener", default=None)
"""Told the bytes of the body that is being read."""


@contextmanager
def listen(on_text: Callable[[str], None] | None) -> Iterator[None]:
    """Tell the text of replies that are read in the block, as it comes."""
    rest = b""

    def hear(piece: bytes) -> None:
        nonlocal rest
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if on_text is not None and (text := _delta(line).get("content")) and isinstance(text, str):
                on_text(text)

    token = _listener.set(None if on_text is None else hear)
    try:
        yield
    finally:
        _listener.reset(token)


def tell_listener(piece: bytes) -> None:
    """Tell whoever listens a piece of a body."""
    if (hear := _listener.get()) is not None:
        hear(piece)


def merge_events(body: bytes) -> bytes:
    """Return a body of events as the body of a reply that came as a whole; any other body as it is."""
    if not body.lstrip().startswith(b"data:"):
        return body
    said: dict[str, str] = {"content": "", "refusal": ""}
    finish, usage = None, None
    logprobs: list[Any] = []
    for line in body.split(b"\n"):
        chunk = _chunk(line)
        usage = chunk.get("usage") or usage
        choice = _choice(chunk)
        finish = choice.get("finish_reason") or finish
        tokens = choice.get("logprobs")
        logprobs += tokens["content"] if isinstance(tokens, dict) and isinstance(tokens.get("content"), list) else []
        delta = choice.get("delta")
        for name in said:
            text = delta.get(name) if isinstance(delta, dict) else None
            said[name] += text if isinstance(text, str) else ""
    choice = {"message": said, "finish_reason": finish, "logprobs": {"content": logprobs} if logprobs else None}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def _delta(line: bytes) -> dict[str, Any]:
    delta = _choice(_chunk(line)).get("delta")
    return delta if isinstance(delta, dict) else {}


def _choice(chunk: dict[str, Any]) -> dict[str, Any]:
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _chunk(line: bytes) -> dict[str, Any]:
    """Return the data of a line of events; empty for any other line."""
    if not line.startswith(b"data:"):
        return {}
    try:
        chunk = json.loads(line[5:].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return chunk if isinstance(chunk, dict) else {}
