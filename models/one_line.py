"""What a message quotes of others, in one line that is not too long."""

from __future__ import annotations


def one_line(said: object, most: int = 200) -> str:
    """Return a text, or what an error says, on one line of at most `most` characters."""
    line = " ".join(str(said).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
