"""Cut a file into spans that can be read by themselves: at members of gzip, or anywhere in plain text.

A line belongs to the span in which it begins, so that a span's reader reads on to the end of its last line. Where a
member of gzip begins is guessed by its first bytes and told by reading: a span that ends within a member is cut off for
its reader, as a file would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO, RawIOBase
from typing import Any, cast

from isal import igzip, igzip_lib

from .byte_file import GZIP, MIB
from .lines import LineReader

SPAN_BYTES = 32 << 20
"""The least size of a span on disk: half a million to two million lines."""
UNKNOWN_LINE = 1 << 39
"""What lines are numbered after where those before are not counted yet: greater than any line's number."""

_MEMBER = GZIP + b"\x08"
_RESERVED_FLAGS = 0xE0
_TRIED_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes on disk from `start` to `end`."""

    start: int
    end: int


def find_spans(path: str, span_bytes: int) -> list[Span]:
    """Return the spans of a file, each of at least `span_bytes` but the last; one for a file that cannot be cut."""
    with FileIO(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        is_packed = file.read(len(GZIP)) == GZIP
        starts: list[int] = [0]
        while (at := starts[-1] + span_bytes) < size:
            found = _find_member(file, at) if is_packed else at
            if found is None:
                break
            starts.append(found)
    return [Span(*ends) for ends in zip(starts, [*starts[1:], size], strict=True)]


class SpanReader(LineReader):
    """The lines that begin in a span of a file on disk; those of the first span are numbered from 1."""

    def __init__(self, path: str, span: Span) -> None:
        super().__init__(path)
        self._span = span
        self.num_before = UNKNOWN_LINE if span.start else 0

    @contextmanager
    def open_unpacked(self) -> Iterator[RawIOBase]:
        """Open the span's lines, decompressed if the file is gzip; reads may be short."""
        yield cast(RawIOBase, _Pieces(_read_lines(str(self._path), self._span)))


class _Pieces:
    """Bytes that come in pieces, to be read like a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one piece reaches; return 0 at the end."""
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _read_lines(path: str, span: Span) -> Iterator[bytes]:
    """Yield the lines that begin in the span, in pieces."""
    with FileIO(path) as file:
        is_packed = file.read(len(GZIP)) == GZIP
        size = file.seek(0, 2)
        pieces = _read_pieces(path, span, is_packed)
        if span.start:
            after_newline = next((after for piece in pieces if (after := piece.partition(b"\n"))[1]), None)
            if after_newline is None:
                return
            yield after_newline[2]
        yield from pieces
        if span.end < size:
            for piece in _read_pieces(path, Span(span.end, size), is_packed):
                line, newline, _ = piece.partition(b"\n")
                yield line + newline
                if newline:
                    return


def _read_pieces(path: str, span: Span, is_packed: bool) -> Iterator[bytes]:
    """Yield the bytes of a span, decompressed; raise what the decompression raises where it is not whole members."""
    with _Section(path, span) as section:
        stream = cast(Any, igzip).open(section, "rb") if is_packed else section
        while piece := stream.read(MIB):
            yield piece


class _Section(FileIO):
    """The bytes of a file within a span."""

    def __init__(self, path: str, span: Span) -> None:
        super().__init__(path)
        self._end = span.end
        self.seek(span.start)

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most `size` bytes, none at the end of the span."""
        left = self._end - self.tell()
        return super().read(left if size is None or size < 0 else min(size, left)) or b""

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer as far as the span reaches; return 0 at its end."""
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def _find_member(file: FileIO, start: int) -> int | None:
    """Return the first place from `start` on where a member of gzip seems to begin; None where there is none."""
    rest = b""
    while True:
        file.seek(start)
        piece = rest + (file.read(MIB) or b"")
        if len(piece) == len(rest):
            return None
        begin = start - len(rest)
        place = piece.find(_MEMBER)
        while place >= 0:
            if _seems_to_begin(file, begin + place):
                return begin + place
            place = piece.find(_MEMBER, place + 1)
        start = begin + len(piece)
        rest = piece[-len(_MEMBER) + 1 :]


def _seems_to_begin(file: FileIO, place: int) -> bool:
    """Return whether what is here reads as a member, as far as it was tried."""
    file.seek(place)
    head = file.read(_TRIED_BYTES) or b""
    if len(head) <= len(_MEMBER) or head[len(_MEMBER)] & _RESERVED_FLAGS:
        return False
    try:
        igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP).decompress(head, _TRIED_BYTES)
    except igzip_lib.IsalError:  # type: ignore[misc]
        return False
    return True
