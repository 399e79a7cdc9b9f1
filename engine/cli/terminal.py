"""Write to the terminal: colours, escapes, warnings."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import unicodedata

import click

_STEERING = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
_UNSAFE = re.compile(rf"(?!\x1b\[[0-9;]*m){_STEERING}")  # our own colours, which click takes out where nobody sees them


def in_colour() -> bool:
    """Whether standard output is a terminal that shows colours, and nobody asked for none (https://no-color.org)."""
    return (
        bool(sys.stdout) and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def echo(text: object = "", *, err: bool = False, color: bool | None = None, nl: bool = True) -> None:
    """Print lines: the one place where text leaves for a terminal, so that none of it can steer that.

    What could is written as JSON does, so that JSON stays what it says; names that may hold colours go through
    `printable` first.
    """
    click.echo(_UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], str(text)), err=err, color=color, nl=nl)


def printable(text: str) -> str:
    """Return the text with control characters shown, so that no name can steer a terminal."""
    return "".join(
        c
        if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in "\u200c\u200d"
        else f"\\x{ord(c):02x}"
        for c in text
    )


class _Lines(logging.Handler):
    """Prints a record as one line, whatever is in the names it speaks of."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record."""

        echo(f"lodestar: {printable(' '.join(record.getMessage().split()))}", err=True)


def show_warnings() -> None:
    """Print the library's warnings from now on."""
    log = logging.getLogger("lodestar")
    if not any(isinstance(handler, _Lines) for handler in log.handlers):
        log.addHandler(_Lines(logging.WARNING))
