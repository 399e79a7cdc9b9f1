"""Quote external text for messages."""

from __future__ import annotations

SHOWN_CHARS = 80


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
