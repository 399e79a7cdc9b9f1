"""Read a question set in any format and choose some of its questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from ...engine.errors import InputError, UsageError
from ...engine.gold_questions import GoldQuestion, QuestionSet
from ...engine.values import MAX_OPTIONS, MAX_QUESTION_CHARS, MAX_TOPICS_CHARS
from ..reading.files import RereadableFile
from .formats import (
    CwqQuestions,
    GrailqaQuestions,
    LodestarQuestions,
    MedqaQuestions,
    MetaqaQuestions,
    PathquestionQuestions,
    RogQuestions,
    WebqspQuestions,
)
from .lines import Line, QuestionIds, RecordFields, is_json_or_parquet, lines, records


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
