"""How far a download is, on stderr: a bar on a terminal, one plain line at the start and at the end elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from ...progress.waiting import say

if TYPE_CHECKING:
    from rich.progress import Progress


class ByteProgress:
    """A progress bar on stderr that several threads may advance."""

    def __init__(self, what: str, total_bytes: int, *, shown: bool = True) -> None:
        self.what = what
        self.total_bytes = total_bytes
        self._shown = shown
        self._started_s = time.monotonic()
        self._bar = _bar() if shown and sys.stderr.isatty() else None
        self._task = self._bar.add_task(f"downloading {what}", total=total_bytes) if self._bar else None

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        elif self._shown:
            say(f"downloading {self.what}: {self.total_bytes / 1e6:,.0f} MB …")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar:
            self._bar.stop()
        if self._shown and kind is None:
            elapsed_s = time.monotonic() - self._started_s
            say(f"{self.what}: {self.total_bytes / 1e6:,.0f} MB in {elapsed_s:.1f} s")

    def advance(self, size_bytes: int) -> None:
        """Add bytes (negative: a download that starts over)."""
        if self._bar and self._task is not None:
            self._bar.advance(self._task, size_bytes)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
