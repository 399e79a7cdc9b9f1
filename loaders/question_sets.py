"""Read a question set in any format and choose some of its questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ..engine.errors import InputError, UsageError
from ..engine.gold_questions import GoldQuestion, QuestionSet
from ..engine.values import MAX_OPTIONS, MAX_QUESTION_CHARS, MAX_TOPICS_CHARS
from ..models import quote_line
from .question_formats import LINE_FORMATS, RECORD_FORMATS, FaultyQuestionError
from .reading import PARQUET, RereadableFile, format_columns, format_value, read_parquet, read_records
from .reading.lines import LineReader


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


_PACKED = ".gz"
MAX_PIPED_BYTES = 1 << 28
"""The largest question set from a pipe; files have no limit."""
MAX_ANSWER_CHARS = 20_000
"""The longest id or name: no entity's is longer, and it is sent to the database."""
_JSON = re.compile(rb"\s*(?:\{|\[\s*(?:[\]{]|\Z))")
_HOPS = re.compile(r"(?<!\d)(\d{1,2})-hop(?![a-z])")

_FORMATS = {**RECORD_FORMATS, **LINE_FORMATS}
FORMATS = tuple(sorted(_FORMATS))
"""The names of the formats."""


class Item(NamedTuple):
    """A record or the text of a line; its line, or its number in a list; and its place for messages."""

    value: Any
    number: int
    place: str


def read_questions(path: str, format_name: str | None = None) -> QuestionSet:
    """Return the questions of a file (``-`` is standard input), gzip or plain; the content tells the format.

    The set has the file's name without `.gz`. A missing id becomes this name with the question's line, or its number in
    the file; repeated ids get `#2`, `#3` and so on. Raises `UsageError` for an unknown format name, `InputError`, with
    its place, for any fault of the file.
    """
    if format_name is not None and format_name not in FORMATS:
        raise UsageError(f"expected a format of questions, one of {', '.join(FORMATS)}: found {format_name!r}")
    file = LineReader(path, MAX_PIPED_BYTES)
    start = file.first_bytes(1 << 10)
    if not start.strip():
        raise InputError(f"{file.shown}: expected questions, found an empty file: fetch it again")
    are_records = start.startswith(PARQUET) or _JSON.match(start) is not None
    items, formats = (_records(file), RECORD_FORMATS) if are_records else (_lines(file), LINE_FORMATS)
    first = next(items, None)
    if first is None:
        raise InputError(f"{file.shown}: expected questions, found none: fetch it again")
    recognised = next((name for name, each in formats.items() if each.recognises(first.value)), None)
    name = format_name or recognised
    if name is None or name not in formats or not formats[name].recognises(first.value):
        raise _unknown(first, format_name, recognised)
    set_name = file.name.removesuffix(_PACKED)
    hops = [int(match[1]) for part in reversed(Path(file.shown).parts) if (match := _HOPS.search(part))]
    questions, taken = [], dict[str, int]()
    for item in chain([first], items):
        try:
            question = _check(formats[name].question(item.value))
        except FaultyQuestionError as error:
            raise InputError(f"{item.place}: {error}: correct the question or remove it") from error
        id_ = _free_id(question.id.strip() or f"{set_name}:{item.number}", taken)
        if name == "metaqa":  # its files or their folders are called 2-hop
            question = replace(question, num_hops=next(iter(hops), None))
        questions.append(replace(question, id=id_, text=question.text.strip()))
    return QuestionSet(set_name, name, file.digest(), tuple(questions))


def _unknown(first: Item, wanted: str | None, recognised: str | None) -> InputError:
    expected = f"{wanted} ({_FORMATS[wanted].shown})" if wanted else f"one of {', '.join(FORMATS)}"
    is_line = isinstance(first.value, str)
    found = quote_line(first.value) if is_line else f"an object with the fields {format_columns(list(first.value))}"
    looks = f", which looks like {recognised}" if recognised else ""
    advice = f"convert it to lodestar ({_FORMATS['lodestar'].shown})"
    advice = f"name {recognised}, or no format" if recognised else advice
    return InputError(f"{first.place}: expected a question as {expected}, found {found}{looks}: {advice}")


def _check(question: GoldQuestion) -> GoldQuestion:
    """Return the question; raise `FaultyQuestionError` if a text is missing or too long."""
    topics = sum(map(len, (*question.topic_ids, *question.topic_names)))
    longest = max((len(text) for answer in question.answers for text in (answer.id or "", *answer.names)), default=0)
    limits = (
        (len(question.text.strip()), MAX_QUESTION_CHARS, "a question of at most {:,} characters"),
        (topics, MAX_TOPICS_CHARS, "topics of at most {:,} characters together"),
        (len(question.options), MAX_OPTIONS, "at most {:,} options"),
        (longest, MAX_ANSWER_CHARS, "answers of at most {:,} characters each"),
    )
    for found, limit, expected in limits:
        if found > limit:
            raise FaultyQuestionError(expected.format(limit), f"{found:,}")
    if not question.text.strip():
        raise FaultyQuestionError("a question", "none")
    return question


def _free_id(own: str, taken: dict[str, int]) -> str:
    """Return an id that no question before has: a later one with the same id gets `#2`, `#3` and so on."""
    free = own
    while free in taken:
        taken[own] += 1
        free = f"{own}#{taken[own]}"
    taken[free] = 1
    return free


def _lines(file: LineReader) -> Iterator[Item]:
    """Yield the lines that are not blank; raise `InputError` for one that cannot be read."""

    def refuse(line: int, reason: str, _text: str) -> None:
        raise InputError(f"{file.shown}:{line}: {reason}: correct the file or fetch it again")

    for batch in file.batches(refuse):
        for number, text in zip(batch["line"].to_pylist(), batch["text"].to_pylist(), strict=True):
            if text.strip():
                yield Item(text, number, f"{file.shown}:{number}")


def _records(file: RereadableFile) -> Iterator[Item]:
    """Yield rows of parquet, or JSON objects: one on each line, or those of an array, or of `Questions` in an object.

    Raises `InputError`, with the line or the number of the question, for invalid JSON or what is no object.
    """
    if file.first_bytes(len(PARQUET)) == PARQUET:
        rows = (row for batch in read_parquet(file, _without_graphs) for row in batch.to_pylist())
        yield from (Item(row, number, f"{file.shown}: question {number}") for number, row in enumerate(rows, 1))
        return
    for line, found, fault in read_records(file):
        if fault:
            raise InputError(f"{file.shown}:{line}: {fault}: correct the file or fetch it again")
        listed = found.get("Questions", found) if isinstance(found, dict) else found
        is_list = isinstance(listed, list)
        for number, value in enumerate(listed if is_list else [listed], 1):
            place = f"{file.shown}: question {number}" if is_list else f"{file.shown}:{line}"
            if not isinstance(value, dict):
                raise InputError(f"{place}: expected a JSON object, found {format_value(value)}: correct the file")
            yield Item(value, number if is_list else line, place)


def _without_graphs(names: Sequence[str]) -> list[str]:
    return [name for name in names if name not in ("graph", "subgraph")]
