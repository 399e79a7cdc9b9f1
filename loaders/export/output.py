"""Write files atomically, and count and hash their content."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, RawIOBase
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from isal import igzip

from ...engine.errors import StorageError, UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDOUT = "-"
_PACKING_LEVEL = 2
_BUFFER_BYTES = 1 << 18


class Output:
    """A file to write to, gzip if its name ends with ``.gz``; ``-`` is standard output.

    Bytes written to `stream` go to a hidden draft beside it; `publish` moves it over the old file. A pipe, or another
    file that is not regular, is written directly. The same bytes give the same file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._target = Path(path).resolve()
        self._direct = path == STDOUT or (self._target.exists() and not self._target.is_file())
        self._new = self._target.with_name(f".{self._target.name}.{os.getpid()}.part")
        self._file = self._open()
        self._counted = _CountingFile(self._file)
        self.stream = BufferedWriter(self._compress() if path.endswith(".gz") else self._counted, _BUFFER_BYTES)

    @property
    def size_bytes(self) -> int:
        """The size of the file so far in bytes, compressed."""
        return self._counted.size_bytes

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file so far, in hexadecimal."""
        return self._counted.hash.hexdigest()

    def end(self) -> None:
        """Flush everything to the disk."""
        self.stream.close()
        self._file.flush()
        if not self._direct:
            os.fsync(self._file.fileno())
        self._file.close()

    def publish(self) -> None:
        """Give the finished file its name."""
        if not self._direct:
            self._new.replace(self._target)

    def discard(self) -> None:
        """Delete the draft; the old file stays."""
        for file in (self.stream, self._file):
            with suppress(OSError):
                file.close()
        if not self._direct:
            self._new.unlink(missing_ok=True)

    def _open(self) -> IO[bytes]:
        if self._path == STDOUT:
            if sys.stdout is None:
                raise StorageError("standard output is closed: give a file to write to")
            return open(sys.stdout.fileno(), "wb", closefd=False)
        if self._target.is_dir():
            raise UsageError(f"{self._path}: expected the name of a file to write, found a folder")
        try:
            return (self._target if self._direct else self._new).open("wb")
        except OSError as error:
            raise StorageError(f"{self._path}: cannot be written: {error.strerror}") from error

    def _compress(self) -> RawIOBase:
        packer = igzip.IGzipFile(  # type: ignore[no-untyped-call]
            "", "wb", compresslevel=_PACKING_LEVEL, fileobj=self._counted, mtime=0
        )
        return cast(RawIOBase, packer)


@contextmanager
def open_atomic_outputs(*paths: str) -> Iterator[list[Output]]:
    """Open files; if the block succeeds all get their names, else none.

    Raises `StorageError` when they cannot be written, `BrokenPipeError` when their reader has gone.
    """
    outputs: list[Output] = []
    try:
        for path in paths:
            outputs.append(Output(path))  # noqa: PERF401 - those that are open are to vanish when the next fails
        yield outputs
        for output in outputs:
            output.end()
        for output in outputs:
            output.publish()
    except BaseException as error:
        for output in outputs:
            output.discard()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            shown = " and ".join("standard output" if path == STDOUT else path for path in paths)
            raise StorageError(f"{shown}: cannot be written: {error.strerror}") from error
        raise


class _CountingFile(RawIOBase):
    """Passes bytes on to a file; closing it leaves the file open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size_bytes = 0
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size_bytes

    def write(self, data: ReadableBuffer) -> int:
        view = memoryview(data)
        self._file.write(view)
        self.hash.update(view)
        self.size_bytes += view.nbytes
        return view.nbytes
