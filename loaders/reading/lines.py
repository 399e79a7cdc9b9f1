"""Cut a file into blocks of lines."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...engine.errors import InputError
from ...models.message_text import SHOWN_CHARS, quote_line
from .files import RereadableFile

LINES = pa.schema([("line", pa.int64()), ("text", pa.string_view())])

INLINE_BYTES = 12
"""Spare bytes at the end of a block's data; Arrow's views store texts up to this length inline."""
_PREFIX_BYTES = 4

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]

Reject = tuple[int, str, str]
"""A line's number, why it is rejected, and the line, shortened for a message."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Line number `numbers[i]` is ``data[starts[i]:ends[i]]``, UTF-8 without a zero byte, in order.

    `rejects` are unreadable lines between these.
    """

    data: Bytes
    numbers: Positions
    starts: Positions
    ends: Positions
    rejects: tuple[Reject, ...] = ()

    def as_batch(self) -> pa.RecordBatch:
        """Return the lines as `LINES`: views into the data (length, then the text or prefix and place)."""
        lengths = self.ends - self.starts
        views = np.zeros((len(lengths), 4), np.int32)
        views[:, 0] = lengths
        inline = lengths <= INLINE_BYTES
        if inline.any():
            texts = np.lib.stride_tricks.sliding_window_view(self.data, INLINE_BYTES)[self.starts[inline]]
            texts[np.arange(INLINE_BYTES) >= lengths[inline, np.newaxis]] = 0
            views[inline, 1:] = texts.view(np.int32)
        if not inline.all():
            prefixes = np.lib.stride_tricks.sliding_window_view(self.data, _PREFIX_BYTES)[self.starts[~inline]]
            views[~inline, 1] = prefixes.view(np.int32)[:, 0]
            views[~inline, 3] = self.starts[~inline]
        texts_of = pa.Array.from_buffers(
            pa.string_view(), len(lengths), [None, pa.py_buffer(views.reshape(-1)), pa.py_buffer(self.data)]
        )
        return pa.record_batch([pa.array(self.numbers), texts_of], schema=LINES)


MAX_LINE_BYTES = 1_000_000
FIRST_BLOCK_BYTES = 1 << 20
"""The size of the first block; each block doubles it, so that short files start at once, too."""
BLOCK_BYTES = 16 << 20
"""The largest block. Larger blocks share fewer terms with others, and about six are in memory at a time."""
FIRST_LINES = 100
FIRST_BYTES = 1 << 16
"""Where these have CR and no LF, lines end in CR."""

OnReject = Callable[[int, str, str], None]
"""Called with a line's number, why it is rejected, and the line, shortened for a message."""

_NEWLINE, _RETURN, _FIRST_NOT_ASCII = 10, 13, 128
_QUOTE = ord('"')


class LineReader(RereadableFile):
    """A file of lines that end in LF or CRLF, or in CR where its start has no LF.

    quoted: whether a line end in double quotes belongs to the line, as RFC 4180 has it.
    """

    quoted = False

    def blocks(self) -> Generator[LineBlock]:
        """Yield the lines: numbered from 1, without their ends, empty ones included.

        Lines longer than `MAX_LINE_BYTES`, with a zero byte or not in UTF-8 are among the rejects of their block.
        Raises `InputError` for an empty file, and for a file that cannot be read to its end.
        """
        cutter = _Cutter(self._find_newline(), self.quoted)
        with self.open_unpacked() as stream:
            at_end = False
            while not at_end:
                block, filled = cutter.new_block()
                while filled < len(block) - INLINE_BYTES and not at_end:
                    with self.translate_faults(partial(cutter.line_after, block[:filled])):
                        read = stream.readinto(block[filled:-INLINE_BYTES].data)
                    filled += read
                    at_end = not read
                if not cutter.started and not filled:
                    raise InputError(f"{self.shown}: the file is empty")
                cut = cutter.cut(block, filled, at_end)
                if cut:
                    yield cut

    def _find_newline(self) -> int:
        start = self.first_bytes(FIRST_BYTES)
        return _RETURN if b"\r" in start and b"\n" not in start else _NEWLINE

    def batches(self, rejects: OnReject) -> Generator[pa.RecordBatch]:
        """Yield the lines of `blocks` as non-empty batches of `LINES`; pass the others to `rejects`."""
        for block in self.blocks():
            for reject in block.rejects:
                rejects(*reject)
            if len(block.numbers):
                yield block.as_batch()

    def first_lines(self) -> list[tuple[int, str]]:
        """Return the first readable lines, at most `FIRST_LINES`, with their numbers."""
        with closing(self.blocks()) as blocks:
            block = next((block for block in blocks if len(block.numbers)), None)
        if block is None:
            return []
        first = block.as_batch().slice(0, FIRST_LINES)
        return list(zip(first["line"].to_pylist(), first["text"].to_pylist(), strict=True))


class _Cutter:
    """Cuts blocks at line ends; the rest of a block starts the next one."""

    def __init__(self, newline: int, quoted: bool) -> None:
        self.started = False
        self._newline = newline
        self._quoted = quoted
        self._block_bytes = min(FIRST_BLOCK_BYTES, BLOCK_BYTES)
        self._rejects: list[Reject] = []
        self.num_lines = 0
        self._rest: Bytes = np.empty(0, np.uint8)
        self._too_long: bytes | None = None
        """The start of an overlong line whose end is still to come."""

    def new_block(self) -> tuple[Bytes, int]:
        """Return a block with `INLINE_BYTES` to spare at its end, and how many bytes are filled."""
        filled = len(self._rest)
        block: Bytes = np.empty(filled + self._block_bytes + INLINE_BYTES, np.uint8)
        block[:filled] = self._rest
        self._block_bytes = min(2 * self._block_bytes, BLOCK_BYTES)
        return block, filled

    def line_after(self, uncut: Bytes) -> int:
        """Return the number of the current line; 0 before reading."""
        if not self.started and not len(uncut):
            return 0
        return self.num_lines + int(np.count_nonzero(uncut == self._newline)) + 1

    def cut(self, block: Bytes, filled: int, at_end: bool) -> LineBlock | None:
        """Return the lines that end in the block; None if none does."""
        data = block[:filled]
        is_end = data == self._newline
        if self._quoted and np.any(quotes := data == _QUOTE):
            is_end &= np.cumsum(quotes) % 2 == 0  # a block begins outside of quotes, with a line
        ends = np.flatnonzero(is_end)
        after = int(ends[-1]) + 1 if len(ends) else 0
        if at_end and (after < filled or (not filled and self._too_long is not None)):
            ends, after = np.append(ends, filled), filled
        starts = np.append(0, ends[:-1] + 1)[: len(ends)]
        self.started = True
        self._rejects = []
        if len(ends) and self._too_long is not None:
            self._reject_too_long(self.num_lines + 1, self._too_long)
            self.num_lines, starts, ends, self._too_long = self.num_lines + 1, starts[1:], ends[1:], None
        self._keep(data[after:])
        if not len(ends):
            return LineBlock(block, starts, starts, ends, tuple(self._rejects)) if self._rejects else None
        ends = ends - ((ends > starts) & (data[ends - 1] == _RETURN))
        kept = ~self._unreadable(data, starts, ends)
        numbers = np.arange(self.num_lines + 1, self.num_lines + 1 + len(ends), dtype=np.int64)
        self.num_lines += len(ends)
        return LineBlock(block, numbers[kept], starts[kept], ends[kept], tuple(self._rejects))

    def _keep(self, rest: Bytes) -> None:
        """Keep the start of a line for the next block; of an overlong one only what a message shows."""
        if self._too_long is None and len(rest) > MAX_LINE_BYTES + 1:
            self._too_long = rest[: 4 * SHOWN_CHARS].tobytes()
        self._rest = rest[:0].copy() if self._too_long is not None else rest.copy()

    def _unreadable(self, data: Bytes, starts: Positions, ends: Positions) -> Chosen:
        """Return which lines are unreadable, after adding them to the rejects."""
        found: Chosen = ends - starts > MAX_LINE_BYTES
        region = data[starts[0] : ends[-1]]
        if len(region) and region.min() == 0:
            found[_lines_with(region == 0, ends - starts[0])] = True
        if len(region) and region.max() >= _FIRST_NOT_ASCII and not _is_utf8(region):
            for i in _lines_with(region >= _FIRST_NOT_ASCII, ends - starts[0]):
                found[i] |= _fault_of_encoding(data[starts[i] : ends[i]].tobytes()) is not None
        for i in np.flatnonzero(found):
            raw = data[starts[i] : ends[i]].tobytes()
            line = self.num_lines + 1 + int(i)
            if len(raw) > MAX_LINE_BYTES:
                self._reject_too_long(line, raw)
            else:
                fault = "expected text, found a zero byte" if b"\0" in raw else _fault_of_encoding(raw)
                self._rejects.append((line, str(fault), quote_line(raw)))
        return found

    def _reject_too_long(self, line: int, start: bytes) -> None:
        self._rejects.append((line, f"the line is longer than {MAX_LINE_BYTES:,} bytes", quote_line(start)))


def _lines_with(wanted: Chosen, ends: Positions) -> Positions:
    """Return the lines, by index, that contain a wanted byte."""
    return np.unique(np.searchsorted(ends, np.flatnonzero(wanted), side="right"))


def _is_utf8(data: Bytes) -> bool:
    whole = pa.Array.from_buffers(
        pa.binary(), 1, [None, pa.py_buffer(np.array([0, len(data)], np.int32)), pa.py_buffer(data)]
    )
    try:
        whole.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _fault_of_encoding(raw: bytes) -> str | None:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"expected UTF-8, found byte 0x{raw[error.start]:02x}"
    return None
