"""Read a reply that comes as server-sent events: tell its text piece by piece, and return it as one body."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

END = b"data: [DONE]"
STREAM_OPTIONS: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks an endpoint for events, by the names in the protocol; one that knows none of it replies as a whole."""

CUT = "cut"
"""The finish reason of a stream that ends without one, and without the event that ends streams."""

_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


class _Listener:
    """Tells the text of a reply as it comes; an attempt after a cut one goes on where the told text ends."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._num_told = 0

    def of_body(self) -> Callable[[bytes], None]:
        """Return what hears the pieces of one body."""
        rest, num_heard = b"", 0

        def hear(piece: bytes) -> None:
            nonlocal rest, num_heard
            *lines, rest = (rest + piece).split(b"\n")
            for text in filter(None, map(_text_of, lines)):
                new = text[max(0, self._num_told - num_heard) :]
                num_heard += len(text)
                self._num_told = max(self._num_told, num_heard)
                if new:
                    self._on_text(new)

        return hear


@contextmanager
def listen(on_text: Callable[[str], None] | None) -> Iterator[None]:
    """Tell the text of the reply that is read in the block, as it comes."""
    token = _listener.set(None if on_text is None else _Listener(on_text))
    try:
        yield
    finally:
        _listener.reset(token)


def listen_to_body() -> Callable[[bytes], None]:
    """Return what is told the pieces of a body that is about to be read."""
    listener = _listener.get()
    return (lambda _piece: None) if listener is None else listener.of_body()


def merge_events(body: bytes) -> bytes:
    """Return a body of events as the body of a reply that came as a whole; any other body as it is.

    The finish reason is `CUT` if the events end in the middle.
    """
    lines = [line.strip() for line in body.split(b"\n")]
    if not any(line.startswith(b"data:") for line in lines):
        return body
    said: dict[str, str] = {"content": "", "refusal": ""}
    finish: str | None = None if END in lines else CUT
    usage = None
    logprobs: list[Any] = []
    for line in lines:
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


def _text_of(line: bytes) -> str:
    """Return the text that a line of events adds."""
    delta = _choice(_chunk(line)).get("delta")
    text = delta.get("content") if isinstance(delta, dict) else None
    return text if isinstance(text, str) else ""


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
