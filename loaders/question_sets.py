"""Read a question set in any format and choose some of its questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from ..engine.errors import InputError, UsageError
from ..engine.gold_questions import GoldQuestion, QuestionSet
from ..engine.values import MAX_OPTIONS, MAX_QUESTION_CHARS, MAX_TOPICS_CHARS
from ..models import quote_line
from .question_formats import (
    CwqQuestions,
    GrailqaQuestions,
    Line,
    LodestarQuestions,
    MedqaQuestions,
    MetaqaQuestions,
    PathquestionQuestions,
    RecordFields,
    RogQuestions,
    WebqspQuestions,
)
from .reading import (
    PARQUET,
    RereadableFile,
    UnreadableError,
    decode_line,
    format_value,
    parquet_records,
    parse_record,
    record_lines,
)


def choose_file(path: str, split: str | None) -> str:
    """Return the file itself or, of a folder, the one file whose name has the split as a word.

    Raises `InputError` for a folder without a split, and if no file or several match.
    """
    folder = Path(path)
    if not folder.is_dir():
        return path
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    if split is None:
        raise InputError(f"{path}: expected a file of questions, found a folder: name one of its files, or a --split")
    found = [name for name in names if re.search(rf"(?<![a-z0-9]){re.escape(split)}(?![a-z0-9])", name.lower())]
    if len(found) != 1:
        what = f"{len(found)} files" if found else "no file"
        raise InputError(f"{path}: expected one file of the split {split!r}, found {what} of {', '.join(names)}")
    return str(folder / found[0])


_OF_RECORDS: Mapping[str, Any] = {
    "webqsp": WebqspQuestions(),
    "cwq": CwqQuestions(),
    "grailqa": GrailqaQuestions(),
    "rog": RogQuestions(),
    "medqa": MedqaQuestions(),
    "lodestar": LodestarQuestions(),
}
_OF_LINES: Mapping[str, Any] = {
    "metaqa": MetaqaQuestions(),
    "pathquestion": PathquestionQuestions(),
}
_PACKED = ".gz"
MAX_PIPED_BYTES = 1 << 28
"""The largest question set from a pipe; files have no limit."""
MAX_ANSWER_CHARS = 20_000
"""The longest id or name: no entity's is longer, and it is sent to the database."""

FORMATS = tuple(sorted([*_OF_RECORDS, *_OF_LINES]))
"""The names of the formats."""

ItemT = TypeVar("ItemT", RecordFields, Line)


def read_questions(path: str, format_name: str | None = None) -> QuestionSet:
    """Return the questions of a file (``-`` is standard input), gzip or plain; the content tells the format.

    The set has the file's name without `.gz`. A missing id becomes this name with the question's line, or its number in
    the file; repeated ids get `#2`, `#3` and so on. Raises `UsageError` for an unknown format name, `InputError`, with
    its place, for any fault of the file.
    """
    if format_name is not None and format_name not in FORMATS:
        raise UsageError(f"expected a format of questions, one of {', '.join(FORMATS)}: found {format_name!r}")
    file = RereadableFile(path, MAX_PIPED_BYTES)
    name = file.name.removesuffix(_PACKED)
    ids = QuestionIds(name)
    if is_json_or_parquet(file):
        found, questions = _read(file, records(file), _OF_RECORDS, format_name, ids)
    else:
        found, questions = _read(file, lines(file), _OF_LINES, format_name, ids)
    return QuestionSet(name, found, file.digest(), questions)


def _read(
    file: RereadableFile,
    items: Iterator[ItemT],
    formats: Mapping[str, Any],
    wanted: str | None,
    ids: QuestionIds,
) -> tuple[str, tuple[GoldQuestion, ...]]:
    """Return the name of the file's format, and its questions."""
    first = next(items, None)
    if first is None:
        raise InputError(f"{file.shown}: expected questions, found none: fetch it again")
    recognised = next((name for name, format_ in formats.items() if format_.recognises(first)), None)
    name = wanted or recognised
    if name is None or name not in formats or not formats[name].recognises(first):
        raise _unknown(first, wanted, recognised)
    return name, tuple(_check_question(formats[name].question(item), item, ids) for item in chain([first], items))


def _unknown(first: RecordFields | Line, wanted: str | None, recognised: str | None) -> InputError:
    shapes = {name: format_.shape for formats in (_OF_RECORDS, _OF_LINES) for name, format_ in formats.items()}
    expected = f"{wanted} ({shapes[wanted]})" if wanted else f"one of {', '.join(FORMATS)}"
    found = f"{first.found}, which looks like {recognised}" if recognised else first.found
    advice = f"name {recognised}, or no format" if recognised else f"convert it to lodestar ({shapes['lodestar']})"
    return InputError(f"{first.where}: expected a question as {expected}, found {found}: {advice}")


def _check_question(question: GoldQuestion, item: RecordFields | Line, ids: QuestionIds) -> GoldQuestion:
    """Return the question with trimmed id and text; raise `InputError` if a text is missing or too long."""
    text = question.text.strip()
    if not text:
        raise InputError(f"{item.where}: expected a question, found {item.found} without its text: remove it")
    if len(text) > MAX_QUESTION_CHARS:
        expected = f"a question of at most {MAX_QUESTION_CHARS:,} characters"
        raise InputError(f"{item.where}: expected {expected}, found {len(text):,}: shorten it")
    topics = sum(map(len, (*question.topic_ids, *question.topic_names)))
    if topics > MAX_TOPICS_CHARS:
        expected = f"topics of at most {MAX_TOPICS_CHARS:,} characters together"
        raise InputError(f"{item.where}: expected {expected}, found {topics:,}: remove some")
    if len(question.options) > MAX_OPTIONS:
        raise InputError(
            f"{item.where}: expected at most {MAX_OPTIONS} options, found {len(question.options):,}: remove some"
        )
    longest = max((len(text) for answer in question.answers for text in (answer.id or "", *answer.names)), default=0)
    if longest > MAX_ANSWER_CHARS:
        expected = f"answers of at most {MAX_ANSWER_CHARS:,} characters each"
        raise InputError(f"{item.where}: expected {expected}, found one of {longest:,}: shorten it")
    return replace(question, id=ids.id_of(question.id, item.number), text=text)


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


_JSON = re.compile(rb"\s*(?:\{|\[\s*(?:[\]{]|\Z))")
_GRAPHS = {"graph", "subgraph"}
_CONTAINER = "Questions"


def is_json_or_parquet(file: RereadableFile) -> bool:
    """Return whether the file starts as JSON or parquet, and not as text; raise `InputError` for an empty file."""
    with file.open_buffered() as reader:
        start = reader.peek(1)
    if not start.strip():
        raise InputError(f"{file.shown}: expected questions, found an empty file: fetch it again")
    return start.startswith(PARQUET) or _JSON.match(start) is not None


def lines(file: RereadableFile) -> Iterator[Line]:
    """Yield the lines that are not blank; raise `InputError` for one that is not UTF-8."""
    number = 0
    with file.open_buffered(line=lambda: number) as reader:
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
    with file.open_buffered(line=lambda: number) as reader:
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
