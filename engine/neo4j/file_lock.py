"""Lock a file between processes; the operating system frees the lock when its holder ends, even by a kill."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import LodestarError, StorageError


@contextmanager
def lock_file(path: Path, reason: str, *, refusal: LodestarError | None = None) -> Iterator[None]:
    """Hold the lock at `path`. If another process has it, raise `refusal`, or print `reason` to stderr and wait.

    Raises `StorageError` if the file cannot be opened, for example because another user owns it.
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
