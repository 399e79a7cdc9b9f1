"""Read files of lines and of rows piece by piece, each by itself: on processes of this machine, or on others.

Every piece becomes a file of rows. Taken over in the order of the pieces, they are what reading in sequence makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

import duckdb
from pyarrow import parquet

from ...engine.errors import InputError
from ..parsers.parser import read_parser
from ..reading.lines import LINES, Reject
from ..reading.spans import SPAN_BYTES, UNKNOWN_LINE, Span, SpanReader, find_spans
from ..rows import ROWS
from ..source import LineFile, Part, RowSpan, SourceRowBatches
from .processes import MapInOrder
from .sql import query, run_on_batches

APART_FROM_BYTES = 4 * SPAN_BYTES
"""Below this, on disk, processes take longer to start than they save."""
MIN_PROCESSES = 4
"""With fewer, taking over their rows costs what they save: two took 26 seconds of processors for 10 million lines, and
reading in sequence 15."""
PIECE_MB = 400
"""What a process takes that parses pieces."""
_PARSER_MB = 128
"""What its parser takes of it, before it writes."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of a file, the parser of its lines, and the file that its rows go to."""

    path: str
    span: Span
    parser: str
    parameters: Mapping[str, object]
    rows: Path

    @property
    def num_before(self) -> int:
        """What its rows number the lines after."""
        return UNKNOWN_LINE if self.span.start else 0


@dataclass(frozen=True, slots=True)
class RowPiece:
    """A span of a file of rows, and the file that its rows go to."""

    span: RowSpan
    rows: Path
    num_before: int = 0


@dataclass(frozen=True, slots=True)
class PieceReport:
    """How many lines begin in a piece, and those that are unreadable, by their numbers in its rows."""

    num_lines: int
    rejects: tuple[Reject, ...]


def cut_into_pieces(part: Part, number: int, folder: Path) -> list[Piece | RowPiece]:
    """Return the pieces of a part; none of one that only its source can read."""
    if isinstance(part, SourceRowBatches):
        return [RowPiece(span, folder / f"{number}-{place}.parquet") for place, span in enumerate(part.spans)]
    path = str(part.file.path)
    return [
        Piece(path, span, part.parser, part.parameters, folder / f"{number}-{place}.parquet")
        for place, span in enumerate(find_spans(path, SPAN_BYTES))
    ]


def parse_piece(piece: Piece | RowPiece) -> PieceReport | None:
    """Write the rows of a piece; return None where it cannot be read by itself, to be read with what follows."""
    return _write_rows(piece) if isinstance(piece, RowPiece) else _parse_lines(piece)


def _write_rows(piece: RowPiece) -> PieceReport:
    num_rows = 0
    with parquet.ParquetWriter(piece.rows, ROWS, compression="lz4") as file:
        for batch in piece.span.read():
            file.write_batch(batch)
            num_rows += batch.num_rows
    return PieceReport(num_rows, ())


def _parse_lines(piece: Piece) -> PieceReport | None:
    found = read_parser(piece.parser)
    rejects: list[Reject] = []
    reader = SpanReader(piece.path, piece.span)
    with duckdb.connect(
        config={"threads": 1, "memory_limit": f"{_PARSER_MB}MB", "preserve_insertion_order": False}
    ) as connection:
        connection.execute("SET enable_progress_bar = false")
        found.prepare(connection, piece.parameters)
        rows = str(piece.rows).replace("'", "''")
        text = query("reading/write_piece").replace("{{parser}}", found.text).replace("{{rows}}", rows)
        try:
            lines = reader.batches(lambda *reject: rejects.append(reject))
            run_on_batches(connection, text, "lines", LINES, lines)
        except InputError:
            return None
    return PieceReport(reader.num_lines, tuple(rejects))


def rest_of(piece: Piece, num_before: int) -> LineFile:
    """Return a part with the lines of a piece and all that follow in its file, numbered after those before."""
    reader = SpanReader(piece.path, Span(piece.span.start, Path(piece.path).stat().st_size))
    reader.num_before = num_before
    return LineFile(reader, piece.parser, piece.parameters)


def is_cuttable(part: Part) -> bool:
    """Return whether others can read pieces of a part."""
    return bool(part.spans) if isinstance(part, SourceRowBatches) else part.file.path is not None


class ParallelPieceReader:
    """The pieces of some parts, parsed apart. Use it as a context manager, and take each part's in its turn."""

    def __init__(self, parts: Sequence[Part], folder: Path, map_in_order: MapInOrder) -> None:
        self._pieces = [cut_into_pieces(part, number, folder) for number, part in enumerate(parts)]
        self._parsed = iter(map_in_order(parse_piece, list(chain.from_iterable(self._pieces))))

    @classmethod
    def of(cls, parts: Sequence[Part], folder: Path, map_in_order: MapInOrder) -> Self | None:
        """Begin to parse apart; return None where that would take longer than it saves, or others cannot read it."""
        if not parts or not all(map(is_cuttable, parts)):
            return None
        if sum(part.file.size_bytes for part in parts if part.file) < APART_FROM_BYTES:
            return None
        return cls(parts, folder, map_in_order)

    def take(self, number: int) -> Iterator[tuple[Piece | RowPiece, PieceReport | None]]:
        """Yield the pieces of a part with what became of them; each part must be taken to its end."""
        for piece in self._pieces[number]:
            yield piece, next(self._parsed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parsed.close()
