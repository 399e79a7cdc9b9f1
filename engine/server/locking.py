"""One lodestar at a time: a lock file that the operating system frees when its holder ends, however it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, reason: str) -> Iterator[None]:
    """Hold the lock at `path`; say `reason` on stderr when it has to be waited for."""
    import filelock

    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        sys.stderr.write(f"{reason}: waiting for it …\n")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
