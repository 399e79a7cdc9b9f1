"""How far a load is: a bar on a terminal, one plain line at the start and one at the end elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Called with the phase, how much is done, and of how much (0 where that is not known)."""


def silent(phase: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def progress_bar(source: str) -> Iterator[Progress]:
    """Show a load of `source` on stderr, one bar a phase."""
    if not sys.stderr.isatty():
        sys.stderr.write(f"loading {source} …\n")
        sys.stderr.flush()
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tasks = {}
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=None)
            bars.update(tasks[phase], completed=done, total=total or None)

        yield show
