"""Find and read files: their bytes, compressed or not, and records of JSON lines or parquet."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from glob import glob, has_magic
from io import BufferedReader, FileIO, RawIOBase
from pathlib import Path
from typing import IO, Any, cast

from isal import igzip_threaded
from isal.igzip_lib import IsalError

from ...engine.errors import InputError, StorageError
from ...models.message_text import quote_line

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def use_spool_folder(folder: Path) -> Iterator[None]:
    """Keep spooled files within the block in this folder instead of the system's temporary folder."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


FREE_BYTES = 1 << 30
"""The free space to leave on the disk."""
MIB = 1 << 20


def spool_stream(stream: IO[bytes], shown: str, max_bytes: int | None = None) -> IO[bytes]:
    """Return a temporary file with the whole stream; it is deleted with the object.

    Raises `StorageError` if there is no room for it, `InputError` if it exceeds `max_bytes`.
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
                raise InputError(f"{shown}: expected at most {max_bytes:,} bytes, found more: check what writes to it")
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


GZIP = b"\x1f\x8b"


_log = logging.getLogger(__name__)


class RereadableFile:
    """A file that can be read again; ``-`` is standard input, which is spooled to a temporary file, as pipes are.

    Raises `InputError` at once if there is nothing to read.
    """

    def __init__(self, path: str, max_piped_bytes: int | None = None) -> None:
        self.name = "stdin" if path == "-" else Path(path).name
        self.shown = "stdin" if path == "-" else path
        self._path = Path(path)
        self._spooled: IO[bytes] | None = None
        self._raw: FileIO | None = None
        self._position_bytes = 0
        with self.translate_faults():
            if not path:
                raise InputError("expected the path of a file, found an empty one")
            if path == "-":
                self._spooled = spool_stream(_stdin(), "standard input", max_piped_bytes)
            elif self._path.is_dir():
                raise InputError(f"{path}: expected a file, found a folder")
            else:
                if self._path.is_fifo():
                    _log.warning("%s is a pipe: waiting for what is written to it", quote_line(path))
                with self._path.open("rb") as file:
                    if not self._path.is_file():
                        self._spooled = spool_stream(file, path, max_piped_bytes)

    @property
    def size_bytes(self) -> int:
        with self.translate_faults():
            return os.fstat(self._spooled.fileno()).st_size if self._spooled else self._path.stat().st_size

    @property
    def position_bytes(self) -> int:
        if self._raw is not None and not self._raw.closed:
            self._position_bytes = self._raw.tell()
        return self._position_bytes

    def digest(self) -> str:
        with self.translate_faults(), self._open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def open_unpacked(self) -> Iterator[RawIOBase]:
        """Open the file from its start, decompressed if it is gzip; reads may be short."""
        with ExitStack() as opened:
            with self.translate_faults():
                file = opened.enter_context(self._open())
                self._raw, self._position_bytes = file, 0
                stream: RawIOBase = file
                packed = file.read(len(GZIP)) == GZIP
                file.seek(0)
                if packed:
                    stream = opened.enter_context(cast(Any, igzip_threaded).open(file, "rb", threads=1)).raw
            yield stream
            self._position_bytes = file.tell()

    @contextmanager
    def translate_faults(self, line: Callable[[], int] = lambda: 0) -> Iterator[None]:
        """Raise `InputError` with the file, and the line if there is one, for any fault of the file."""
        try:
            yield
        except EOFError as error:
            raise InputError(f"{self._place(line())}: the gzip file is cut off: fetch it again") from error
        except (gzip.BadGzipFile, zlib.error, IsalError) as error:  # type: ignore[misc]
            raise InputError(f"{self._place(line())}: the gzip file is damaged ({error}): fetch it again") from error
        except FileNotFoundError as error:
            raise InputError(f"{self._place(line())}: no such file") from error
        except OSError as error:
            raise InputError(f"{self._place(line())}: cannot be read: {error.strerror or error}") from error

    def _place(self, line: int) -> str:
        return f"{self.shown}:{line}" if line else self.shown

    @contextmanager
    def _open(self) -> Iterator[FileIO]:
        if self._spooled:
            with FileIO(os.dup(self._spooled.fileno())) as file:
                file.seek(0)
                yield file
        else:
            with FileIO(self._path) as file:
                yield file


def _stdin() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("stdin: expected a file, found standard input closed")
    return sys.stdin.buffer


_NOT_READ = (".", "_")
"""How names begin that Hadoop, Spark and Lodestar leave beside the files of a folder."""


def list_files(path: str) -> list[str]:
    """Return the files of a folder or of a pattern (``*``, ``?``, ``[…]``, ``**``) by name; any other path itself.

    Files whose names begin with a dot or an underscore are left out. Raises `InputError` where none is left.
    """
    if path and Path(path).is_dir():
        found = [str(each) for each in Path(path).iterdir()]
    elif has_magic(path) and not Path(path).exists():
        found = glob(path, recursive=True)  # noqa: PTH207 - a pattern may begin at the root
    else:
        return [path]
    files = sorted(each for each in found if Path(each).is_file() and not Path(each).name.startswith(_NOT_READ))
    if not files:
        reason = (
            "expected files, found none there"
            if Path(path).is_dir()
            else "no such file, nor any that fits it as a pattern"
        )
        raise InputError(f"{path}: {reason}")
    return files


def derive_source_name(path: str, files: list[str]) -> str | None:
    """Return how the source of these files is called: as the folder or the pattern; None for one file."""
    return Path(path).name if files != [path] else None


MAX_RECORD_BYTES = 256_000_000
PARQUET = b"PAR1"
UTF8_MARK = b"\xef\xbb\xbf"

_RECORDS_AT_ONCE = 16


class UnreadableError(ValueError):
    """Why bytes are not readable as text or JSON, on which of their lines, and whether they only end too early."""

    def __init__(self, reason: str, line: int = 1, ends_early: bool = False) -> None:
        super().__init__(reason)
        self.line = line
        self.ends_early = ends_early


def record_lines(reader: BufferedReader[Any], place: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their ends and their numbers from 1; raise `InputError` for one above `MAX_RECORD_BYTES`."""
    line = 0
    while raw := reader.readline(MAX_RECORD_BYTES + 1):
        line += 1
        if len(raw) > MAX_RECORD_BYTES:
            raise InputError(f"{place}:{line}: the record is longer than {MAX_RECORD_BYTES:,} bytes")
        yield line, raw


def decode_line(raw: bytes) -> str:
    """Return the text without byte order mark and line end; raise `UnreadableError` if it is not UTF-8."""
    try:
        return raw.removeprefix(UTF8_MARK).decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        found = error.object
        line = found.count(b"\n", 0, error.start) + 1
        raise UnreadableError(f"expected UTF-8, found byte 0x{found[error.start]:02x}", line) from error


def parse_record(raw: bytes) -> Any:
    """Return the value of JSON bytes; raise `UnreadableError`."""
    text = decode_line(raw)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"expected JSON, found a fault at character {error.colno}"
        raise UnreadableError(reason, error.lineno, error.pos >= len(text.rstrip())) from error
    except RecursionError as error:
        raise UnreadableError("expected JSON, found too many brackets") from error
    except ValueError as error:
        raise UnreadableError("expected JSON, found a number with too many digits") from error


def parquet_records(
    reader: BufferedReader[Any], place: str, wanted: Callable[[Sequence[str]], Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows with the file's wanted columns; raise `InputError` for a damaged file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(reader)
        columns = list(wanted(file.schema_arrow.names))
        for batch in file.iter_batches(batch_size=_RECORDS_AT_ONCE, columns=columns):
            yield from batch.to_pylist()
    except pa.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{place}: the parquet file is damaged ({reason}): fetch it again") from error


def format_columns(names: Sequence[str]) -> str:
    """Return the names of columns or fields for a message."""
    return quote_line(", ".join(names))


def format_value(value: object) -> str:
    """Return a value for a message, as JSON unless it is text."""
    return quote_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
