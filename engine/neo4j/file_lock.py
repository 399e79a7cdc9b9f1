"""One lodestar at a time: a lock file that the operating system frees when its holder ends, however it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import LodestarError, StorageError


@contextmanager
def lock_file(path: Path, reason: str, *, refusal: LodestarError | None = None) -> Iterator[None]:
    """Hold the lock at `path`; when another has it, raise the `refusal`, or say `reason` on stderr and wait for it.

    Raises `StorageError` where the file cannot be opened, as one that another user made.
    """
    import filelock

    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        if refusal:
            raise refusal from None
        sys.stderr.write(f"{reason}: waiting for it …\n")
        lock.acquire()
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path}: cannot be locked: {reason}: name another folder, or remove this file") from error
    try:
        yield
    finally:
        lock.release()
