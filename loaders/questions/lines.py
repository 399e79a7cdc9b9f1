"""Read question sets line by line or record by record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedReader
from typing import Any, cast

from ...engine.errors import InputError
from ...engine.gold_questions import GoldAnswer
from ...models.message_text import quote_line
from ..formats.freebase import FREEBASE_ID
from ..reading.files import (
    PARQUET,
    RereadableFile,
    UnreadableError,
    decode_line,
    format_columns,
    format_value,
    parquet_records,
    parse_record,
    record_lines,
)


class QuestionIds:
    """Assigns ids in the order of the set: a question without one gets the set's name and its number in the file.

    A later question with the same id gets `#2`, `#3` and so on.
    """

    def __init__(self, set_name: str) -> None:
        self._set_name = set_name
        self._times: dict[str, int] = {}

    def id_of(self, given: str, number: int) -> str:
        """Return the id of the next question, by its own id, if any, and its number."""
        own = given.strip() or f"{self._set_name}:{number}"
        free = own
        while free in self._times:
            self._times[own] += 1
            free = f"{own}#{self._times[own]}"
        self._times[free] = 1
        return free


_MAX_SHARED = 1 << 17
_ENTITY = re.compile(rf":?({FREEBASE_ID})")


def entity_id(text: str) -> str | None:
    """Return the text as an id, without the leading colon of some files; None if it is not an id."""
    match = _ENTITY.fullmatch(text.strip())
    return match[1] if match else None


def freebase_answers(written: Iterable[tuple[str, Iterable[str]]]) -> tuple[GoldAnswer, ...]:
    """Return the answers written as (id or literal, names), as `distinct_answers` does.

    A text that is not an id is a literal, and its own name; a name that is an id is ignored. A pair without any text is
    not an answer.
    """
    found = []
    for argument, names in written:
        entity = entity_id(argument)
        texts = [name for name in names if name and entity_id(name) is None]
        if entity is None and argument:
            texts.insert(0, argument)
        if entity or texts:
            found.append(GoldAnswer(entity, distinct_texts(texts)))
    return distinct_answers(found)


@lru_cache(_MAX_SHARED)
def answer_from_name(name: str) -> GoldAnswer:
    """Return the answer whose id is its name; many questions share one object, as a set has millions."""
    return GoldAnswer(name, (name,))


def distinct_answers(answers: Iterable[GoldAnswer]) -> tuple[GoldAnswer, ...]:
    """Return each answer once, in order; answers with the same id are merged with all names."""
    names: dict[str | tuple[str, ...], dict[str, None]] = {}
    for answer in answers:
        names.setdefault(answer.id or answer.names, {}).update(dict.fromkeys(answer.names))
    return tuple(GoldAnswer(key if isinstance(key, str) else None, tuple(found)) for key, found in names.items())


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return each text once, in order, without empty ones."""
    return tuple(dict.fromkeys(filter(None, texts)))


_TRIPLE = 3
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The fields of an object, and its place for messages; a null field counts as absent.

    Every method that reads a field raises `InputError`, with the place, if its type is wrong.
    """

    fields: Mapping[str, object]
    number: int
    where: str

    @property
    def found(self) -> str:
        """The names of its fields, for messages."""
        return f"an object with the fields {format_columns(list(self.fields))}" if self.fields else "an empty object"

    def has(self, *names: str) -> bool:
        """Return whether it has all of these fields, null or not."""
        return all(name in self.fields for name in names)

    def demand(self, name: str) -> None:
        """Raise `InputError` if the field is absent."""
        if self.fields.get(name) is None:
            raise self.fault(f"a field {name}", self.found)

    def text(self, name: str) -> str:
        """Return the text, or the number as text; empty if absent."""
        value = self.fields.get(name)
        return "" if value is None else self._text(name, value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts without nulls; none if absent."""
        return self._texts(name, self.values(name))

    def rows(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Return a list of lists of texts; none if absent."""
        return tuple(self._texts(name, row) for row in self.values(name))

    def triples(self, name: str) -> tuple[tuple[str, str, str], ...]:
        """Return a list of [head, relation, tail]."""
        found = []
        for row in self.rows(name):
            if len(row) != _TRIPLE:
                raise self.fault(f"[head, relation, tail] in {name}", format_value(row))
            found.append((row[0], row[1], row[2]))
        return tuple(found)

    def whole_number(self, name: str) -> int | None:
        """Return the number; None if absent."""
        value = self.fields.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        raise self.fault(f"a whole number as {name}", format_value(value))

    def record(self, name: str) -> RecordFields:
        """Return the object in the field; one without fields if absent."""
        value = self.fields.get(name)
        return self._inner(name, {} if value is None else value)

    def records(self, name: str) -> tuple[RecordFields, ...]:
        """Return a list of objects; none if absent."""
        return tuple(self._inner(f"{name} {i}", value) for i, value in enumerate(self.values(name), start=1))

    def values(self, name: str) -> list[object]:
        """Return a list of any values; an empty one if absent."""
        value = self.fields.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(f"a list as {name}", format_value(value))
        return value

    def inner(self, name: str, value: object) -> RecordFields | str:
        """Return an item of a list of this name: an object or a text."""
        return self._inner(name, value) if isinstance(value, dict) else self._text(name, value)

    def fault(self, expected: str, found: str) -> InputError:
        """Return the error that says what was expected and what was found."""
        return InputError(f"{self.where}: expected {expected}, found {found}: correct the question or remove it")

    def _inner(self, name: str, value: object) -> RecordFields:
        if not isinstance(value, dict):
            raise self.fault(f"an object as {name}", format_value(value))
        return RecordFields(value, self.number, f"{self.where}, {name}")

    def _texts(self, name: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self.fault(f"a list as {name}", format_value(value))
        return tuple("" if item is None else self._text(name, item) for item in value)

    def _text(self, name: str, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.fault(f"text as {name}", format_value(value))
        text = str(value)
        if _NO_TEXT.search(text):
            raise self.fault(f"text as {name}", quote_line(text))
        return text


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


_BUFFER_BYTES = 1 << 20
_JSON = re.compile(rb"\s*(?:\{|\[\s*(?:[\]{]|\Z))")
_GRAPHS = {"graph", "subgraph"}
_CONTAINER = "Questions"


def is_json_or_parquet(file: RereadableFile) -> bool:
    """Return whether the file starts as JSON or parquet, and not as text; raise `InputError` for an empty file."""
    with file.translate_faults(), _open_file(file) as reader:
        start = reader.peek(1)
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
