"""Read files of records one by one: JSON lines or parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader
from typing import Any

from ...engine.errors import InputError
from ...models.message_text import quote_line

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
