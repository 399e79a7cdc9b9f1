"""Read question sets line by line or record by record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, Protocol, TypeVar, cast

from ...engine.errors import InputError
from ...engine.gold_questions import GoldQuestion
from ...models.message_text import quote_line
from ..reading.byte_file import RereadableFile
from ..reading.records import (
    PARQUET,
    UTF8_MARK,
    UnreadableError,
    decode_line,
    format_value,
    parquet_records,
    parse_record,
    record_lines,
)
from .record import RecordFields


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end; `where` is its place for messages, `path` its file's."""

    text: str
    number: int
    where: str
    path: str

    @property
    def found(self) -> str:
        """The line, shortened for a message."""
        return quote_line(self.text)

    def fault(self, expected: str) -> InputError:
        """Return the error for this line, given what was expected."""
        return InputError(f"{self.where}: expected {expected}, found {self.found}: correct the line or remove it")


ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
"""The input of one question: `RecordFields` or a `Line`."""


class QuestionFormat(Protocol[ItemT_contra]):
    """One format: how it states a question, and how to detect it."""

    @property
    def shape(self) -> str:
        """The form of a question, for messages."""
        ...

    def recognises(self, item: ItemT_contra) -> bool:
        """Return whether the first question of a file is in this format."""
        ...

    def question(self, item: ItemT_contra) -> GoldQuestion:
        """Return the question, with an empty id if the set has none; raise `InputError` with its place."""
        ...


_BUFFER_BYTES = 1 << 20
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_JSON = re.compile(rb"\s*(?:\{|\[\s*(?:[\]{]|\Z))")
_GRAPHS = {"graph", "subgraph"}
_CONTAINER = "Questions"


def is_json_or_parquet(file: RereadableFile) -> bool:
    """Return whether the file starts as JSON or parquet, and not as text; raise `InputError` for an empty file."""
    with file.translate_faults(), _open_file(file) as reader:
        start = reader.peek(1).removeprefix(UTF8_MARK)
    if start.startswith(_UTF16):
        raise InputError(f"{file.shown}: expected UTF-8, found UTF-16: convert it first")
    if not start.strip():
        raise InputError(f"{file.shown}: expected questions, found an empty file: fetch it again")
    return start.startswith(PARQUET) or _JSON.match(start) is not None


def lines(file: RereadableFile) -> Iterator[Line]:
    """Yield the lines that are not blank; raise `InputError` for one that is not UTF-8."""
    number = 0
    with file.translate_faults(lambda: number), _open_file(file) as reader:
        for number, raw in record_lines(reader, file.shown):
            try:
                text = decode_line(raw)
            except UnreadableError as error:
                raise _unreadable(file, number, error) from error
            if text.strip():
                yield Line(text, number, f"{file.shown}:{number}", file.shown)


def records(file: RereadableFile) -> Iterator[RecordFields]:
    """Yield the questions one by one: rows of parquet, or JSON objects, one per line, in an array, or in `Questions`.

    Lines and parquet are streamed, and parquet's graphs are skipped; other JSON is read whole. Raises `InputError`,
    with the line or the number of the question, for invalid JSON or a value that is not an object.
    """
    number = 0
    with file.translate_faults(lambda: number), _open_file(file) as reader:
        if reader.peek(len(PARQUET)).startswith(PARQUET):
            yield from _number_records(file, parquet_records(reader, file.shown, _without_graphs))
            return
        is_first, in_one = True, False
        for number, raw in record_lines(reader, file.shown):
            if not raw.strip():
                continue
            if in_one:
                found = quote_line(raw)
                raise InputError(f"{file.shown}:{number}: expected the end of the file, found {found}: fetch it again")
            value = _json(file, number, raw, reader)
            questions = value.get(_CONTAINER) if isinstance(value, dict) else value
            if is_first and isinstance(questions, list):
                in_one = True
                yield from _number_records(file, questions)
            else:
                yield _record(value, number, f"{file.shown}:{number}")
            is_first = False


def _json(file: RereadableFile, number: int, raw: bytes, reader: BufferedReader[Any]) -> Any:
    """Return the JSON of the line or, if it only starts there, of the line and the rest of the file."""
    try:
        return parse_record(raw)
    except UnreadableError as error:
        rest = reader.read() if error.ends_early else b""
        if not rest:
            raise _unreadable(file, number, error) from error
    try:
        return parse_record(raw + rest)
    except UnreadableError as error:
        raise _unreadable(file, number, error) from error


def _unreadable(file: RereadableFile, number: int, error: UnreadableError) -> InputError:
    return InputError(f"{file.shown}:{number + error.line - 1}: {error}: correct the file or fetch it again")


def _number_records(file: RereadableFile, values: Iterable[object]) -> Iterator[RecordFields]:
    for number, value in enumerate(values, start=1):
        yield _record(value, number, f"{file.shown}: question {number}")


def _record(value: object, number: int, where: str) -> RecordFields:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected a JSON object, found {format_value(value)}: correct the file")
    return RecordFields(value, number, where)


def _without_graphs(names: Sequence[str]) -> list[str]:
    return [name for name in names if name not in _GRAPHS]


@contextmanager
def _open_file(file: RereadableFile) -> Iterator[BufferedReader[Any]]:
    with file.open_unpacked() as stream:
        yield BufferedReader(cast(Any, stream), _BUFFER_BYTES)
