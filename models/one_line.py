"""Shorten text to one line for a message."""

from __future__ import annotations


def one_line(text: object, max_length: int = 200) -> str:
    """Return a text or an error's message on one line of at most `max_length` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"
