"""One lodestar at a time: a lock file that the operating system frees when its holder ends, however it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import LodestarError


@contextmanager
def locked(path: Path, reason: str, *, refusal: LodestarError | None = None) -> Iterator[None]:
    """Hold the lock at `path`; when another has it, raise the `refusal`, or say `reason` on stderr and wait for it."""
    import filelock

    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        if refusal:
            raise refusal from None
        sys.stderr.write(f"{reason}: waiting for it …\n")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
