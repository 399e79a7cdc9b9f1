"""How far long work is: a bar with the time that is left on a terminal, one plain line elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .waiting import say

Progress = Callable[[str, int, int], None]
"""Called with the phase, how much is done, and of how much (0 where that is not known)."""

Say = Callable[[str], None]
"""Called with a line for people."""

_BYTES = {"reading"}
"""Phases that count bytes."""


def silent(phase: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def progress_bar(source: str, doing: str = "loading") -> Iterator[tuple[Progress, Say]]:
    """Show what is done with `source` on stderr, one bar a phase, and lines above the bars."""
    if not sys.stderr.isatty():
        say(f"{doing} {source} …")
        yield silent, say
        return
    from rich.console import Console
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
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=None, count="")
            count = f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB" if phase in _BYTES else f"{done:,} of {total:,}"
            bars.update(tasks[phase], completed=done, total=total or None, count=count if total else "")

        yield show, bars.console.print
