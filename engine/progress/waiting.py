"""What is waited for, on stderr: drawn on a terminal, one plain line at the start and at the end elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def waiting(what: str, *, shown: bool = True) -> Iterator[None]:
    """Say what is waited for, and when it is over how long it took."""
    began_s = time.monotonic()
    if shown and sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(f"{what} …"):
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
