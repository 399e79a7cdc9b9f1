"""Write to the terminal: data, reports, warnings; ask before something is deleted."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click

from ..errors import UsageError
from ..progress import make_printable, print_to_stderr

_STEERING = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
_UNSAFE = re.compile(rf"(?!\x1b\[[0-9;]*m){_STEERING}")  # keep our own colours; click removes them where needed


def echo(text: str) -> None:
    """Print lines of data; control characters are written as in JSON, so that none can control the terminal.

    Names that may contain colour codes go through `make_printable` first.
    """
    click.echo(_UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text))


def print_json(data: object) -> None:
    """Print plain data as one line of JSON, of ASCII alone where the output takes no other characters."""
    is_unicode = str(getattr(sys.stdout, "encoding", "")).lower().replace("-", "") == "utf8"
    echo(json.dumps(data, ensure_ascii=not is_unicode))


def show(data: object, lines: Iterable[str], *, as_json: bool, styled: bool = False) -> None:
    """Print a result: with --json as data, else as lines, in which no name can control the terminal.

    styled: the lines have colours, and their names are printable already.
    """
    if as_json:
        print_json(data)
    for line in () if as_json else lines:
        echo(line if styled else make_printable(line))


def print_report(text: str, data: object, as_json: bool) -> None:
    """Print what was done: in words on standard error, and with --json as data."""
    print_to_stderr(text)
    if as_json:
        print_json(data)


def confirm_deletion(what: str, *, yes: bool) -> None:
    """Ask before something is deleted; without a yes nothing is, and the command ends with 1."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"this deletes {what}: give --yes to skip the question")
    if not click.confirm(f"Delete {what}?", err=True):
        print_to_stderr("nothing deleted")
        raise click.exceptions.Exit(1)


class _Lines(logging.Handler):
    """Prints a log record as one line, whatever names it contains."""

    def emit(self, record: logging.LogRecord) -> None:
        print_to_stderr(f"lodestar: {' '.join(record.getMessage().split())}")


def show_warnings() -> None:
    """Print the library's warnings from now on."""
    log = logging.getLogger("lodestar")
    if not any(isinstance(handler, _Lines) for handler in log.handlers):
        log.addHandler(_Lines(logging.WARNING))


def format_load(load: Mapping[str, Any]) -> str:
    """Return a load, as JSON data, as a line."""
    return f"{load['number']:>3}  {load['source']}  {load['kind']}  {load['num_triples']:,} triples  {load['state']}"


def print_counts(counts: Mapping[str, int], more: Mapping[str, Any], as_json: bool) -> None:
    """Print the counts that are not 0 in a column, or as JSON all of them after `more`."""
    width = max(36, *map(len, counts))
    lines = (f"{name:<{width}}{number:>10,}" for name, number in counts.items() if number)
    show({**more, "counts": dict(counts)}, lines, as_json=as_json)
