"""Show progress bars and waiting lines on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@cache
def _console() -> Console:
    """Return the one console on stderr: what it shows at a time stands below one another."""
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def show_status(what: str) -> Iterator[Say]:
    """Show a line on a terminal until the block ends, and yield what replaces it; elsewhere show nothing."""
    if not sys.stderr.isatty():
        yield lambda _line: None
        return
    from rich.text import Text

    with _console().status(what) as status:
        yield lambda line: status.update(Text(line, no_wrap=True, overflow="ellipsis"))


@contextmanager
def show_waiting(what: str, *, shown: bool = True) -> Iterator[None]:
    """Say what is waited for, and when it is over how long it took."""
    began_s = time.monotonic()
    if shown and sys.stderr.isatty():
        with _console().status(f"{what} …"):
            yield
    else:
        if shown:
            say(f"{what} …")
        yield
    if shown:
        say(f"{what}: {time.monotonic() - began_s:.1f} s")


def say(line: str) -> None:
    """Write a line to stderr at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


Progress = Callable[[str, int, int], None]
"""Called with the phase, how much is done, and of how much (0 where that is not known)."""

Say = Callable[[str], None]
"""Called with a line for people."""

_BYTES = {"downloading", "reading"}
"""Phases that count bytes."""


def ignore_progress(phase: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def progress_bar(source: str, doing: str = "loading") -> Iterator[tuple[Progress, Say]]:
    """Show what is done with `source` on stderr, one bar a phase, and lines above the bars."""
    if not sys.stderr.isatty():
        say(f"{doing} {source} …")
        yield ignore_progress, say
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    tasks = {}
    with Bars(*columns, console=_console(), transient=True) as bars:

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=None, count="")
            count = f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB" if phase in _BYTES else f"{done:,} of {total:,}"
            bars.update(tasks[phase], completed=done, total=total or None, count=count if total else "")

        yield show, bars.console.print
