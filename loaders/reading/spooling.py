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

from ...engine.errors import StorageError

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


def spooled(stream: IO[bytes], shown: str) -> IO[bytes]:
    """Return a temporary file with all that the stream has; it goes with the object.

    Raises `StorageError` where there is no room for it.
    """
    folder = _folder.get() or Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = cast(IO[bytes], tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - lives as long as the source
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error
    try:
        shutil.copyfileobj(stream, file, 1 << 20)
        file.flush()
    except OSError as error:
        file.close()
        if error.errno not in _NO_ROOM:
            raise
        raise StorageError(
            f"{folder}: no room left on the disk for what comes from {shown}: make room or name another --home"
        ) from error
    return file
