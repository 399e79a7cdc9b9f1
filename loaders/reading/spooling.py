"""What can be read only once, kept in a temporary file: standard input and pipes."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, cast

from ...engine.errors import InputError, StorageError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def spooling_in(folder: Path) -> Iterator[None]:
    """Keep what is spooled within the block in this folder; elsewhere it is the system's for temporary files."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


FREE_BYTES = 1 << 30
"""What is left free of the disk."""
MIB = 1 << 20


def spooled(stream: IO[bytes], shown: str, max_bytes: int | None = None) -> IO[bytes]:
    """Return a temporary file with all that the stream has; it goes with the object.

    Raises `StorageError` where there is no room for it, `InputError` where it is more than `max_bytes`.
    """
    folder = _folder.get() or Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = cast(IO[bytes], tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - lives as long as the source
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error
    try:
        num_bytes = 0
        while piece := stream.read(MIB):
            num_bytes += len(piece)
            if max_bytes is not None and num_bytes > max_bytes:
                raise InputError(f"{shown}: expected at most {max_bytes:,} bytes, found more: see what writes to it")
            if num_bytes % (64 * MIB) < MIB and shutil.disk_usage(folder).free < FREE_BYTES:
                raise OSError(errno.ENOSPC, "")
            file.write(piece)
        file.flush()
    except InputError:
        file.close()
        raise
    except OSError as error:
        file.close()
        if error.errno not in _NO_ROOM:
            raise
        raise StorageError(
            f"{folder}: no room left on the disk for what comes from {shown}: make room or name another --home"
        ) from error
    return file
