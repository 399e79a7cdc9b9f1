"""Write to the terminal: data, reports, warnings."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable

import click

from ..errors import UsageError
from ..progress import make_printable, print_to_stderr

JSON = f"{__name__}.json"
"""Where the context of a verb has whether --json was given."""


def asks_for_json() -> bool:
    """Return whether the verb that runs was given --json (`options.json_option`)."""
    return bool(click.get_current_context().meta.get(JSON))


def print_json(data: object) -> None:
    """Print plain data as one line of JSON, in which no name can control the terminal."""
    is_unicode = str(getattr(sys.stdout, "encoding", "")).lower().replace("-", "") == "utf8"
    text = json.dumps(data, ensure_ascii=not is_unicode, default=str)
    click.echo("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))


def show(data: object, lines: Iterable[str], *, styled: bool = False) -> None:
    """Print a result: with --json as data, else as lines, in which no name can control the terminal.

    styled: the lines have colours, and their names are printable already.
    """
    if asks_for_json():
        print_json(data)
        return
    for line in lines:
        click.echo(line if styled else make_printable(line))


def print_report(text: str, data: object) -> None:
    """Print what was done: in words on standard error, and with --json as data."""
    print_to_stderr(text)
    if asks_for_json():
        print_json(data)


def require_yes(what: str, *, yes: bool) -> None:
    """Raise `UsageError` unless --yes was given for what is deleted."""
    if not yes:
        raise UsageError(f"this deletes {what}: give --yes")


class WarningLines(logging.Handler):
    """Prints a log record as one line, whatever names it contains."""

    def emit(self, record: logging.LogRecord) -> None:
        print_to_stderr(f"lodestar: {' '.join(record.getMessage().split())}")
