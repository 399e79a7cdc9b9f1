"""Read files of lines, in batches."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from io import RawIOBase
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from ...engine.errors import InputError
from . import NOT_UTF8, SHOWN_BYTES, RereadableFile

pc: Any = compute  # its stubs lack most functions
LINES = pa.schema([("line", pa.int64()), ("text", pa.string())])

MAX_LINE_BYTES = 1_000_000
BLOCK_BYTES = 4 << 20  # the largest block
FIRST_LINES = 100
FIRST_BYTES = 1 << 16  # where these have CR and no LF, lines end in CR

OnReject = Callable[[int, str, str], None]
"""Called with a line's number, why it is rejected, and the line, shortened for a message."""


class LineReader(RereadableFile):
    """A file of lines that end in LF or CRLF, or in CR where its start has no LF.

    quoted: whether a line end in double quotes belongs to the line, as RFC 4180 has it.
    """

    quoted = False

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
