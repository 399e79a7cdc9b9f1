"""Find and read files: their bytes, unpacked and in UTF-8, their lines, and records of JSON or parquet."""

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
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from glob import glob, has_magic
from io import BufferedReader, FileIO, RawIOBase
from pathlib import Path
from typing import IO, Any, cast
from xml.parsers import expat

import numpy as np
import pyarrow as pa
from isal import igzip_threaded
from isal.igzip_lib import IsalError
from pyarrow import compute

from ..engine.errors import NO_ROOM, InputError, StorageError, UsageError
from ..models import quote_line

_log = logging.getLogger(__name__)
pc: Any = compute  # its stubs lack most functions
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)
_encoding: ContextVar[str] = ContextVar("encoding", default="")
NOT_UTF8 = "expected UTF-8, found byte 0x{:02x}: name its encoding, as by --encoding latin1"
MIB = 1 << 20
FREE_BYTES = 1 << 30  # the free space to leave on the disk


@contextmanager
def use_spool_folder(folder: Path, encoding: str = "") -> Iterator[None]:
    """Keep spooled files within the block in this folder instead of the system's temporary folder.

    encoding: of the files that are read within, where they are not in UTF-8 or UTF-16.
    """
    if encoding:
        try:
            "".encode(encoding)
        except LookupError as error:
            raise UsageError(f"--encoding: expected one as latin1 or cp1252, found {encoding!r}") from error
    tokens = _folder.set(folder), _encoding.set(encoding)
    try:
        yield
    finally:
        _folder.reset(tokens[0])
        _encoding.reset(tokens[1])


def write_spool_file(write: Callable[[IO[bytes]], object], shown: str) -> IO[bytes]:
    """Return a temporary file with what is written, which is deleted with the object.

    Raises `StorageError` if there is no room for what comes from `shown`.
    """
    folder = _folder.get() or Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = cast(IO[bytes], tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - lives as long as the source
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error
    try:
        write(file)
        file.flush()
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise StorageError(
            f"{folder}: no room left on the disk for what comes from {shown}: make room or name another LODESTAR_HOME"
        ) from error
    return file


def _copy(source: IO[bytes], max_bytes: int | None, target: IO[bytes]) -> None:
    num_bytes = 0
    while piece := source.read(MIB):
        num_bytes += len(piece)
        if max_bytes is not None and num_bytes > max_bytes:
            raise InputError(f"expected at most {max_bytes:,} bytes, found more: check what writes them")
        if num_bytes % (64 * MIB) < MIB and shutil.disk_usage(target.fileno()).free < FREE_BYTES:
            raise OSError(errno.ENOSPC, "")
        target.write(piece)


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


def unpacked_name(path: str) -> str:
    """Return a path without the ending that says that it is packed; whatever.zip ends as the file in it does."""
    name = next((path[: -len(end)] for end in PACKED_ENDINGS if path.lower().endswith(end)), path)
    if path.lower().endswith(".zip") and not Path(name).suffix:
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            name += Path(archive.namelist()[0]).suffix if len(archive.namelist()) == 1 else ""
    return name


def _packing(head: bytes) -> str:
    return next((name for start, name in PACKED.items() if head.startswith(start)), "")


class _Pieces(RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(filter(None, self._pieces), b"")
        size = min(len(self._rest), len(buffer))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def read_pieces(reader: Any) -> Iterator[bytes]:
    """Yield what is to read in large pieces: expat begins a token anew with each piece, and one may be very long."""
    return iter(partial(reader.read, 4 * MIB), b"")


LINES = pa.schema([("line", pa.int64()), ("text", pa.string())])

MAX_LINE_BYTES = 1_000_000
BLOCK_BYTES = 4 << 20  # the largest block
FIRST_LINES = 100
FIRST_BYTES = 1 << 16  # where these have CR and no LF, lines end in CR

OnReject = Callable[[int, str, str], None]
"""Called with a line's number, why it is rejected, and the line, shortened for a message."""


class RereadableFile:
    """A file that can be read again; ``-`` is standard input, which is spooled to a temporary file, as pipes are.

    Raises `InputError` at once if there is nothing to read. quoted: whether a line end in double quotes belongs to the
    line, as RFC 4180 has it.
    """

    quoted = False

    def __init__(self, path: str, max_piped_bytes: int | None = None) -> None:
        self.name = "stdin" if path == "-" else Path(path).name
        self.shown = "stdin" if path == "-" else path
        self._path = Path(path)
        self._spooled: IO[bytes] | None = None
        self._digest: str | None = None
        self._packing = "packed"
        self._encoding = _encoding.get()
        self._raw: FileIO | None = None
        self._position_bytes = 0
        with self.translate_faults():
            if not path:
                raise InputError("expected the path of a file, found an empty one")
            if path == "-":
                if sys.stdin is None or sys.stdin.closed:
                    raise InputError("stdin: expected a file, found standard input closed")
                self._spooled = write_spool_file(partial(_copy, sys.stdin.buffer, max_piped_bytes), "standard input")
            elif self._path.is_dir():
                raise InputError(f"{path}: expected a file, found a folder")
            else:
                if self._path.is_fifo():
                    _log.warning("%s is a pipe: waiting for what is written to it", quote_line(path))
                with self._path.open("rb") as file:
                    if not self._path.is_file():
                        self._spooled = write_spool_file(partial(_copy, file, max_piped_bytes), path)

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
                self._digest = hashlib.file_digest(file, "sha256").hexdigest() + self._encoding
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
                is_utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
                if encoding := "utf-16" if is_utf16 else self._encoding:
                    texts = codecs.iterdecode(read_pieces(stream), encoding)
                    stream = _Pieces(text.encode() for text in texts)
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
        with self.open_buffered(size) as reader:
            return reader.read(size)

    def read_whole(self, advice: str) -> bytes:
        """Return the unpacked file; raise `InputError` with an advice for one above `MAX_RECORD_BYTES`."""
        raw = self.first_bytes(MAX_RECORD_BYTES + 1)
        if len(raw) > MAX_RECORD_BYTES:
            raise InputError(f"{self.shown}: the document is longer than {MAX_RECORD_BYTES:,} bytes: {advice}")
        return raw

    def batches(self, rejects: OnReject) -> Generator[pa.RecordBatch]:
        """Yield non-empty batches of `LINES`: numbered from 1, without their ends, empty ones included.

        Lines longer than `MAX_LINE_BYTES`, with a zero byte or not in UTF-8 are passed to `rejects`. Raises
        `InputError` for an empty file, and for a file that cannot be read to its end.
        """
        start = self.first_bytes(FIRST_BYTES)
        if not start:
            raise InputError(f"{self.shown}: the file is empty")
        newline = b"\r" if b"\r" in start and b"\n" not in start else b"\n"
        number, rest, at_end = 1, b"", False
        with self.open_unpacked() as stream:
            while not at_end:
                block = self._read_block(stream, rest, BLOCK_BYTES, newline, number)
                at_end = len(block) < len(rest) + BLOCK_BYTES
                lines, rest = self._cut(block, newline)
                if at_end and rest:
                    lines = pa.concat_arrays([lines, pa.array([rest.removesuffix(b"\r")], pa.binary())])
                rest = rest[: MAX_LINE_BYTES + 1]  # more of it says nothing: the line is too long
                yield from _readable(lines, number, rejects)
                number += len(lines)

    def first_lines(self) -> list[tuple[int, str]]:
        """Return the first readable lines, at most `FIRST_LINES`, with their numbers."""
        with closing(self.batches(lambda *_: None)) as batches:
            first = next(batches, None)
        return [] if first is None else list(zip(*first.slice(0, FIRST_LINES).to_pydict().values(), strict=True))

    def _read_block(self, stream: RawIOBase, rest: bytes, size: int, newline: bytes, number: int) -> bytes:
        block = bytearray(rest)
        size += len(rest)
        with self.translate_faults(lambda: number + block.count(newline)):
            while len(block) < size and (piece := stream.read(size - len(block))):
                block += piece
        return bytes(block)

    def _cut(self, block: bytes, newline: bytes) -> tuple[pa.Array, bytes]:
        if b"\r\n" in block:
            block = block.replace(b"\r\n", b"\n")
        if self.quoted and b'"' in block:
            *lines, rest = _join_quoted(block.split(newline), newline)
            return pa.array(lines, pa.binary()), rest
        whole, found, rest = block.rpartition(newline)
        if not found:
            return pa.array([], pa.binary()), rest
        return pc.split_pattern(pa.array([whole], pa.binary()), newline).flatten(), rest

    def _unpack(self, file: FileIO, opened: ExitStack) -> RawIOBase:
        packing = self._packing = _packing(file.read(_HEAD_BYTES))
        file.seek(0)
        if not packing:
            return file
        if packing == "gzip":
            return opened.enter_context(cast(Any, igzip_threaded).open(file, "rb", threads=1)).raw
        if packing == "zip":
            archive = opened.enter_context(zipfile.ZipFile(file))
            members = [each for each in archive.infolist() if not each.is_dir() and "__MACOSX" not in each.filename]
            if {"[Content_Types].xml", "mimetype"} & {each.filename for each in members}:
                raise InputError(f"{self.shown}: this is of an office program (.xlsx, .ods): save its sheets as CSV")
            if len(members) != 1:
                raise InputError(f"{self.shown}: expected one file in the archive, found {len(members)}: unpack it")
            return cast(Any, opened.enter_context(archive.open(members[0])))
        if packing == "zstd":
            own = FileIO(os.dup(file.fileno()))  # pyarrow closes it
            return cast(Any, opened.enter_context(pa.CompressedInputStream(pa.PythonFile(own, "r"), "zstd")))
        return opened.enter_context(cast(Any, bz2.BZ2File if packing == "bzip2" else lzma.LZMAFile)(file))

    @contextmanager
    def translate_faults(self, line: Callable[[], int] = lambda: 0) -> Iterator[None]:
        """Raise `InputError` with the file, and the line if there is one, for any fault of the file."""
        try:
            yield
        except (EOFError, OSError, UnicodeDecodeError, *_DAMAGED) as error:
            place = f"{self.shown}:{line()}" if line() else self.shown
            raise InputError(f"{place}: {self._describe(error)}") from error

    def _describe(self, error: Exception) -> str:
        if isinstance(error, EOFError):
            return f"the {self._packing} file is cut off: fetch it again"
        if isinstance(error, _DAMAGED):
            return f"the {self._packing} file is damaged ({error}): fetch it again"
        if isinstance(error, FileNotFoundError):
            return "no such file"
        if isinstance(error, OSError):
            return f"cannot be read: {error.strerror or error}"
        encoding = "UTF-16" if "16" in str(error) else self._encoding or "UTF-8"
        return f"expected {encoding}, found a fault: {error}"

    @contextmanager
    def _open(self) -> Iterator[FileIO]:
        with FileIO(os.dup(self._spooled.fileno()) if self._spooled else self._path) as file:
            file.seek(0)
            yield file


def _join_quoted(lines: Sequence[bytes], newline: bytes) -> list[bytes]:
    joined: list[bytes] = []
    is_open = False
    for line in lines:
        if is_open:
            joined[-1] += newline + line
        else:
            joined.append(line)
        is_open ^= line.count(b'"') % 2 == 1
    return joined


def _readable(lines: pa.Array, first: int, rejects: OnReject) -> Generator[pa.RecordBatch]:
    numbers = pa.array(np.arange(first, first + len(lines)))
    if not _are_readable(lines):
        faults = [_fault(line) for line in lines.to_pylist()]
        for number, (line, fault) in enumerate(zip(lines.to_pylist(), faults, strict=True), first):
            if fault:
                rejects(number, fault, line[:SHOWN_BYTES].decode("utf-8", "replace"))
        kept = pa.array([fault is None for fault in faults], pa.bool_())
        numbers, lines = numbers.filter(kept), lines.filter(kept)
    if len(lines):
        yield pa.record_batch([numbers, lines.cast(pa.string())], schema=LINES)


def _are_readable(lines: pa.Array) -> bool:
    try:
        texts = lines.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    is_short = (pc.max(pc.binary_length(texts)).as_py() or 0) <= MAX_LINE_BYTES
    return is_short and not any(b"\0" in buffer for buffer in map(bytes, texts.buffers()[2:]))


def _fault(line: bytes) -> str | None:
    if len(line) > MAX_LINE_BYTES:
        return f"the line is longer than {MAX_LINE_BYTES:,} bytes"
    if b"\0" in line:
        return "expected text, found a zero byte"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return NOT_UTF8.format(line[error.start])
    return None


def check_xml(file: RereadableFile, form: str) -> None:
    """Raise `InputError` with the line of a fault, such as an end that is missing; `form` is what is expected.

    Entities that are made of others or are elsewhere are refused.
    """
    checking = expat.ParserCreate()

    def check_entity(name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        if value is None or is_parameter or "&" in value:
            what = "names a file or an address" if value is None else "is made of other entities"
            raise InputError(f"{file.shown}: the XML entity {name} {what}, which is not read")

    checking.EntityDeclHandler = check_entity
    try:
        with file.open_buffered() as reader:
            for piece in read_pieces(reader):
                checking.Parse(piece)
            checking.Parse(b"", True)
    except expat.ExpatError as error:
        fault = expat.ErrorString(error.code)
        fault += ": convert it to UTF-8" if "encoding" in fault else ""
        raise InputError(f"{file.shown}:{error.lineno}: expected {form}, found a fault: {fault}") from error
    except (ValueError, LookupError) as error:  # what expat makes of encodings that it does not know
        advice = "convert it to UTF-8 and take `encoding` from its first line"
        raise InputError(f"{file.shown}: its encoding is not read ({error}): {advice}") from error


_NOT_READ = (".", "_")  # how names begin that Hadoop, Spark and Lodestar leave beside the files of a folder


def list_files(path: str, endings: Sequence[str] = ()) -> list[str]:
    """Return the files of a folder or of a pattern (``*``, ``?``, ``[…]``, ``**``) by name; any other path itself.

    Files whose names begin with a dot or an underscore are left out; if any ends, packed or not, as `endings` says, all
    others. Raises `InputError` where none is left.
    """
    if path and Path(path).is_dir():
        found, reason = map(str, Path(path).iterdir()), "expected files, found none there"
    elif has_magic(path) and not Path(path).exists():
        found = iter(glob(path, recursive=True))  # noqa: PTH207 - a pattern may begin at the root
        reason = "no such file, nor any that fits it as a pattern"
    else:
        return [path]
    files = sorted(each for each in found if Path(each).is_file() and not Path(each).name.startswith(_NOT_READ))
    if not files:
        raise InputError(f"{path}: {reason}")
    return [each for each in files if unpacked_name(each).lower().endswith(tuple(endings))] or files


def warn_of_others(path: str, read: Collection[str]) -> None:
    if others := [Path(each).name for each in list_files(path) if each not in read]:
        _log.warning("%s: left out as files of other kinds: %s", path, quote_line(", ".join(others)))


MAX_RECORD_BYTES = 256_000_000
SHOWN_BYTES = 1_000  # of what cannot be read, for a message
PARQUET = b"PAR1"


def read_json_records(file: RereadableFile) -> Iterator[tuple[int, Any, str]]:
    """Yield the line and the value of each record of JSON, and why one is none, with its start as the value.

    Records are lines, which may be the items of one list; else the file is one value. Raises `InputError` for an empty
    file.
    """
    number, is_first = 0, True
    with file.open_buffered(line=lambda: number) as reader:
        while raw := reader.readline(MAX_RECORD_BYTES + 1):
            number += 1
            if len(raw) > MAX_RECORD_BYTES:
                raise InputError(f"{file.shown}:{number}: the record is longer than {MAX_RECORD_BYTES:,} bytes")
            text = raw.strip().removesuffix(b",")
            if text in (b"", b"[", b"]"):
                continue
            record, fault, _ = _parse_json(text)
            line = number
            if is_first and (fault or not isinstance(record, dict | list)):
                whole, fault_of_all, line_of_all = _parse_json(file.read_whole("write a record on each line"))
                if not fault_of_all:
                    yield 1, whole, ""
                    return
                line, fault = (line_of_all, fault_of_all) if fault else (line, "")
            is_first = False
            yield line, raw[:SHOWN_BYTES].decode("utf-8", "replace").rstrip() if fault else record, fault
    if not number:
        raise InputError(f"{file.shown}: the file is empty")


def _parse_json(raw: bytes) -> tuple[Any, str, int]:
    """Return the value, else why it is none, and on which line."""
    try:
        return json.loads(raw.decode()), "", 1
    except UnicodeDecodeError as error:
        return None, NOT_UTF8.format(raw[error.start]), raw.count(b"\n", 0, error.start) + 1
    except json.JSONDecodeError as error:
        return None, f"expected JSON, found a fault at character {error.colno}", error.lineno
    except RecursionError:
        return None, "expected JSON, found too many brackets", 1
    except ValueError:
        return None, "expected JSON, found a number with too many digits", 1


def read_parquet(
    file: RereadableFile, choose: Callable[[Sequence[str]], Sequence[str]], batch_size: int = 16
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the columns chosen of those that are there; raise `InputError` for a damaged file."""
    from pyarrow import parquet

    with file.open_buffered() as reader:
        try:
            found = parquet.ParquetFile(reader)
            yield from found.iter_batches(batch_size, columns=list(choose(found.schema_arrow.names)))
        except pa.ArrowException as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{file.shown}: the parquet file is damaged ({reason}): fetch it again") from error


def parquet_columns(file: RereadableFile) -> list[str]:
    from pyarrow import parquet

    with file.open_buffered() as reader:
        try:
            return list(parquet.read_schema(reader).names)
        except pa.ArrowException:
            return []


def format_columns(names: Iterable[str]) -> str:
    return quote_line(", ".join(names))


def quote_found_value(value: object) -> str:
    return quote_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
