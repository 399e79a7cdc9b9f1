"""Text files as sources of lines: gzip or plain, a path or standard input, every fault with its file and line."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import cast

from ..engine.errors import InputError

MAX_LINE_BYTES = 1_000_000
SHOWN_CHARS = 80

_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"


class TextFile:
    """A UTF-8 file of lines that can be read again; ``-`` is standard input, kept as pipes are in a temporary file.

    Raises `InputError` at once when there is nothing to read.
    """

    def __init__(self, path: str) -> None:
        self.name = "stdin" if path == "-" else Path(path).name
        self.shown = "stdin" if path == "-" else path
        self.line = 0
        self._path = Path(path)
        self._spooled: BufferedIOBase | None = None
        with self._translated():
            if not path:
                raise InputError("expected the path of a file, found an empty one")
            if path == "-":
                self._spooled = _spooled(_stdin())
            elif self._path.is_dir():
                raise InputError(f"{path}: expected a file, found a folder")
            else:
                with self._path.open("rb") as file:
                    if not self._path.is_file():
                        self._spooled = _spooled(file)

    @property
    def place(self) -> str:
        """The file, and the line that was read last."""
        return f"{self.shown}:{self.line}" if self.line else self.shown

    def digest(self) -> str:
        """Return the SHA-256 of the file's bytes, in hexadecimal."""
        with self._translated(), self._opened() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def lines(self) -> Iterator[str]:
        """Yield the lines without their ends, empty ones left out."""
        self.line = 0
        with self._translated(), self._opened() as file, _unpacked(file) as stream:
            while raw := stream.readline(MAX_LINE_BYTES + 1):
                self.line += 1
                if self.line == 1:
                    self._check_encoding(raw)
                    raw = raw.removeprefix(_UTF8_MARK)
                if len(raw) > MAX_LINE_BYTES:
                    raise InputError(f"{self.place}: the line is longer than {MAX_LINE_BYTES:,} bytes")
                if b"\0" in raw:
                    raise InputError(f"{self.place}: expected text, found a zero byte: {shown(raw)}")
                try:
                    line = raw.decode()
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{self.place}: expected UTF-8, found byte 0x{raw[error.start]:02x}: {shown(raw)}"
                    ) from error
                if line := line.rstrip("\r\n"):
                    yield line
        if not self.line:
            raise InputError(f"{self.shown}: the file is empty")

    def fault(self, reason: str, line: str) -> InputError:
        """Return the error for the line that was read last."""
        return InputError(f"{self.place}: {reason}: {shown(line)}")

    def _check_encoding(self, start: bytes) -> None:
        if start.startswith(_UTF16):
            raise InputError(f"{self.shown}: expected UTF-8, found UTF-16: convert it first")

    @contextmanager
    def _opened(self) -> Iterator[BufferedIOBase]:
        if self._spooled:
            self._spooled.seek(0)
            yield self._spooled
        else:
            with self._path.open("rb") as file:
                yield file

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except EOFError as error:
            raise InputError(f"{self.place}: the gzip file is cut off: fetch it again") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{self.place}: the gzip file is damaged ({error}): fetch it again") from error
        except FileNotFoundError as error:
            raise InputError(f"{self.place}: no such file") from error
        except OSError as error:
            raise InputError(f"{self.place}: cannot be read: {error.strerror or error}") from error


def shown(line: str | bytes) -> str:
    """Return a line as it may stand in a message: quoted, unprintable characters escaped, shortened."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    text = text.rstrip("\r\n")
    return repr(text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…")


@contextmanager
def _unpacked(file: BufferedIOBase) -> Iterator[BufferedIOBase]:
    start = file.read(len(_GZIP))
    file.seek(0)
    if start != _GZIP:
        yield file
        return
    with gzip.open(file, "rb") as stream:
        yield stream


def _stdin() -> BufferedIOBase:
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("stdin: expected a knowledge graph, found standard input closed")
    return cast(BufferedIOBase, sys.stdin.buffer)


def _spooled(stream: BufferedIOBase) -> BufferedIOBase:
    """Return a temporary file with all that the stream has; it goes with the object."""
    file = cast(BufferedIOBase, tempfile.TemporaryFile())  # noqa: SIM115 - lives as long as the source
    shutil.copyfileobj(stream, file)
    return file
