"""Find and read files: their bytes, unpacked and in UTF-8, and records of JSON lines or parquet."""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import hashlib
import json
import logging
import lzma
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from glob import glob, has_magic
from io import BufferedReader, FileIO, RawIOBase
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
from isal import igzip_threaded
from isal.igzip_lib import IsalError

from ...engine.errors import InputError, StorageError
from ...models import quote_line

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


def make_temporary_file() -> IO[bytes]:
    """Return a file in the folder of `use_spool_folder`, which is deleted with the object."""
    folder = _folder.get() or Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return cast(IO[bytes], tempfile.TemporaryFile(dir=folder))  # lives as long as the source
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error


@contextmanager
def translate_full_disk(shown: str) -> Iterator[None]:
    """Raise `StorageError` where there is no room for what comes from somewhere."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        folder = _folder.get() or Path(tempfile.gettempdir())
        raise StorageError(
            f"{folder}: no room left on the disk for what comes from {shown}: make room or name another LODESTAR_HOME"
        ) from error


def spool_stream(stream: IO[bytes], shown: str, max_bytes: int | None = None) -> IO[bytes]:
    """Return a temporary file with the whole stream.

    Raises `StorageError` if there is no room for it, `InputError` if it exceeds `max_bytes`.
    """
    file = make_temporary_file()
    num_bytes = 0
    with translate_full_disk(shown):
        while piece := stream.read(MIB):
            num_bytes += len(piece)
            if max_bytes is not None and num_bytes > max_bytes:
                raise InputError(f"{shown}: expected at most {max_bytes:,} bytes, found more: check what writes to it")
            if num_bytes % (64 * MIB) < MIB and shutil.disk_usage(file.fileno()).free < FREE_BYTES:
                raise OSError(errno.ENOSPC, "")
            file.write(piece)
        file.flush()
    return file


PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
"""How packed files begin."""
PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_HEAD_BYTES = 8
_DAMAGED: Any = (gzip.BadGzipFile, zlib.error, IsalError, lzma.LZMAError, zipfile.BadZipFile)


def _packing(head: bytes) -> str:
    return next((name for start, name in PACKED.items() if head.startswith(start)), "")


class _Utf16(RawIOBase):
    """A stream of UTF-16 as UTF-8."""

    def __init__(self, stream: RawIOBase) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")()
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        at_end = False
        while not self._rest and not at_end:
            piece = self._stream.read(MIB) or b""
            at_end = not piece
            try:
                self._rest = self._decoder.decode(piece, final=at_end).encode()
            except UnicodeError as error:
                raise UnreadableError(f"expected UTF-16, found a fault: {error}") from error
        size = min(len(self._rest), len(buffer))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


_log = logging.getLogger(__name__)


def read_pieces(reader: BufferedReader[Any]) -> Iterator[bytes]:
    """Yield what is to read in large pieces: expat begins a token anew with each piece, and one may be very long."""
    return iter(partial(reader.read, 4 * MIB), b"")


class RereadableFile:
    """A file that can be read again; ``-`` is standard input, which is spooled to a temporary file, as pipes are.

    Raises `InputError` at once if there is nothing to read.
    """

    def __init__(self, path: str, max_piped_bytes: int | None = None) -> None:
        self.name = "stdin" if path == "-" else Path(path).name
        self.shown = "stdin" if path == "-" else path
        self._path = Path(path)
        self._spooled: IO[bytes] | None = None
        self._digest: str | None = None
        self._packing = "packed"
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
        if self._digest is None:
            with self.translate_faults(), self._open() as file:
                self._digest = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digest

    @contextmanager
    def open_unpacked(self) -> Iterator[RawIOBase]:
        """Open the file from its start, unpacked, in UTF-8 without a byte order mark; reads may be short."""
        with ExitStack() as opened:
            with self.translate_faults():
                file = opened.enter_context(self._open())
                self._raw, self._position_bytes = file, 0
                with ExitStack() as looked_at:
                    head = self._unpack(file, looked_at).read(_HEAD_BYTES) or b""
                file.seek(0)
                stream = self._unpack(file, opened)
                if packing := _packing(head) if stream is not file else "":
                    raise InputError(f"{self.shown}: a {packing} file in a packed file: unpack it first")
                if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    stream = _Utf16(stream)
                unread = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
                while unread:
                    unread -= len(stream.read(unread) or b"")
            yield stream
            self._position_bytes = file.tell()

    @contextmanager
    def open_buffered(self, size: int = MIB, line: Callable[[], int] = lambda: 0) -> Iterator[BufferedReader[Any]]:
        """Open the unpacked file with a buffer of `size` bytes; faults within the block are raised as `InputError`."""
        with self.translate_faults(line), self.open_unpacked() as stream:
            yield BufferedReader(cast(Any, stream), size)  # closes the stream where nothing refers to it

    def first_bytes(self, size: int) -> bytes:
        """Return the first bytes of the unpacked file; fewer only of a shorter file."""
        found = b""
        with self.translate_faults(), self.open_unpacked() as stream:
            while len(found) < size and (piece := stream.read(size - len(found))):
                found += piece
        return found

    def _unpack(self, file: FileIO, opened: ExitStack) -> RawIOBase:
        """Return the stream of what is packed in the file, else the file."""
        packing = self._packing = _packing(file.read(_HEAD_BYTES))
        file.seek(0)
        if not packing:
            return file
        stream: Any
        if packing == "gzip":
            return opened.enter_context(cast(Any, igzip_threaded).open(file, "rb", threads=1)).raw
        if packing == "bzip2":
            stream = bz2.BZ2File(file)
        elif packing == "xz":
            stream = lzma.LZMAFile(file)  # noqa: SIM115 - entered below
        elif packing == "zstd":
            own = FileIO(os.dup(file.fileno()))  # pyarrow closes it
            stream = pa.CompressedInputStream(pa.PythonFile(own, "r"), "zstd")
        else:
            archive = opened.enter_context(zipfile.ZipFile(file))
            members = [each for each in archive.infolist() if not each.is_dir() and "__MACOSX" not in each.filename]
            if len(members) != 1:
                raise InputError(f"{self.shown}: expected one file in the archive, found {len(members)}: unpack it")
            stream = archive.open(members[0])
        return opened.enter_context(stream)

    @contextmanager
    def translate_faults(self, line: Callable[[], int] = lambda: 0) -> Iterator[None]:
        """Raise `InputError` with the file, and the line if there is one, for any fault of the file."""
        try:
            yield
        except (UnreadableError, EOFError, OSError, *_DAMAGED) as error:
            place = f"{self.shown}:{line()}" if line() else self.shown
            raise InputError(f"{place}: {self._describe(error)}") from error

    def _describe(self, error: Exception) -> str:
        if isinstance(error, EOFError):
            return f"the {self._packing} file is cut off: fetch it again"
        if isinstance(error, _DAMAGED):
            return f"the {self._packing} file is damaged ({error}): fetch it again"
        if isinstance(error, OSError):
            missing = isinstance(error, FileNotFoundError)
            return "no such file" if missing else f"cannot be read: {error.strerror or error}"
        return str(error)

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


def list_files(path: str, endings: Sequence[str] = ()) -> list[str]:
    """Return the files of a folder or of a pattern (``*``, ``?``, ``[…]``, ``**``) by name; any other path itself.

    Files whose names begin with a dot or an underscore are left out; if any ends, packed or not, as `endings` says, all
    others. Raises `InputError` where none is left.
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
    ends = tuple(f"{ending}{packed}" for ending in endings for packed in ("", *PACKED_ENDINGS))
    return [each for each in files if each.lower().endswith(ends)] or files


def warn_of_others(path: str, read: Collection[str]) -> None:
    """Log which files of a folder or a pattern are not read."""
    if others := [Path(each).name for each in list_files(path) if each not in read]:
        _log.warning("%s: left out as files of other kinds: %s", path, quote_line(", ".join(others)))


def derive_source_name(path: str, files: list[str]) -> str | None:
    """Return how the source of these files is called: as the folder or the pattern; None for one file."""
    return Path(path).name if files != [path] else None


MAX_RECORD_BYTES = 256_000_000
PARQUET = b"PAR1"
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


def read_records(file: RereadableFile) -> Iterator[tuple[int, Any, str]]:
    """Yield the number and the value of each line of JSON lines, and why one is none, with its start as the value.

    Lines may also be the items of one list. Blank ones are left out. Raises `InputError` for an empty file.
    """
    line = 0
    with file.open_buffered(line=lambda: line) as reader:
        for line, raw in record_lines(reader, file.shown):
            text = raw.strip().removesuffix(b",")
            if text in (b"", b"[", b"]"):
                continue
            try:
                record, fault = parse_record(text), ""
            except UnreadableError as error:
                record, fault = quote_line(raw), str(error)
            yield line, record, fault
    if not line:
        raise InputError(f"{file.shown}: the file is empty")


def decode_line(raw: bytes) -> str:
    """Return the text without its line end; raise `UnreadableError` if it is not UTF-8."""
    try:
        return raw.decode().rstrip("\r\n")
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
