"""Quote and shorten text from outside for messages."""

from __future__ import annotations

SHOWN_CHARS = 80


def one_line(text: object, max_length: int = 200) -> str:
    """Return a text or an error's message on one line of at most `max_length` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"


def quote_line(line: str | bytes) -> str:
    """Return a line for a message: quoted, escaped if unprintable, at most `SHOWN_CHARS` long."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    text = text.rstrip("\r\n")
    if len(text) <= SHOWN_CHARS and _width(text) <= SHOWN_CHARS:
        return repr(text)
    start = text[: SHOWN_CHARS - 1]
    while _width(start) >= SHOWN_CHARS:
        start = start[:-1]
    return repr(f"{start}…")


def _width(text: str) -> int:
    return len(repr(text)) - 2
