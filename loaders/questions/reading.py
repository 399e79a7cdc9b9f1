"""Question sets of any format, found by its name or by looking at the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from ...engine.errors import InputError, UsageError
from ...engine.questions.gold import GoldQuestion, QuestionSet
from ...engine.values import MAX_QUESTION_CHARS, MAX_TOPICS_CHARS
from ..reading.byte_file import ByteFile
from .formats.cwq_questions import CwqQuestions
from .formats.grailqa_questions import GrailqaQuestions
from .formats.lodestar_questions import LodestarQuestions
from .formats.medqa_questions import MedqaQuestions
from .formats.metaqa_questions import MetaqaQuestions
from .formats.pathquestion_questions import PathquestionQuestions
from .formats.rog_questions import RogQuestions
from .formats.webqsp_questions import WebqspQuestions
from .question_format import QuestionFormat
from .question_ids import QuestionIds
from .question_line import Line
from .question_record import QuestionFields
from .records_or_lines import holds_records, lines, records

_OF_RECORDS: Mapping[str, QuestionFormat[QuestionFields]] = {
    "webqsp": WebqspQuestions(),
    "cwq": CwqQuestions(),
    "grailqa": GrailqaQuestions(),
    "rog": RogQuestions(),
    "medqa": MedqaQuestions(),
    "lodestar": LodestarQuestions(),
}
_OF_LINES: Mapping[str, QuestionFormat[Line]] = {
    "metaqa": MetaqaQuestions(),
    "pathquestion": PathquestionQuestions(),
}
_PACKED = ".gz"
MAX_PIPED_BYTES = 1 << 28
"""Of a set that comes through a pipe; files are as large as they are."""
MAX_ANSWER_CHARS = 20_000
"""Of an id or a name: a longer one is no entity's, and the database is asked for it."""

FORMATS = tuple(sorted([*_OF_RECORDS, *_OF_LINES]))
"""The names of the formats."""

ItemT = TypeVar("ItemT", QuestionFields, Line)


def read_questions(path: str, format_name: str | None = None) -> QuestionSet:
    """Return the questions of a file (``-`` is standard input), gzip or plain; the format is found by its content.

    The set is called as the file, without `.gz`. An id that is missing is that name with the question's line, or its
    number in the file; one that was there before has `#2`, `#3` and so on after it. Raises `UsageError` for an unknown
    name of a format, `InputError` for whatever is wrong with the file, with its place.
    """
    if format_name is not None and format_name not in FORMATS:
        raise UsageError(f"expected a format of questions, one of {', '.join(FORMATS)}: found {format_name!r}")
    file = ByteFile(path, MAX_PIPED_BYTES)
    name = file.name.removesuffix(_PACKED)
    ids = QuestionIds(name)
    if holds_records(file):
        found, questions = _read(file, records(file), _OF_RECORDS, format_name, ids)
    else:
        found, questions = _read(file, lines(file), _OF_LINES, format_name, ids)
    return QuestionSet(name, found, file.digest(), questions)


def _read(
    file: ByteFile,
    items: Iterator[ItemT],
    formats: Mapping[str, QuestionFormat[ItemT]],
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
    return name, tuple(_checked(formats[name].question(item), item, ids) for item in chain([first], items))


def _unknown(first: QuestionFields | Line, wanted: str | None, recognised: str | None) -> InputError:
    shapes = {name: format_.shape for formats in (_OF_RECORDS, _OF_LINES) for name, format_ in formats.items()}
    expected = f"{wanted} ({shapes[wanted]})" if wanted else f"one of {', '.join(FORMATS)}"
    found = f"{first.found}, which looks like {recognised}" if recognised else first.found
    advice = f"name {recognised}, or no format" if recognised else f"convert it to lodestar ({shapes['lodestar']})"
    return InputError(f"{first.where}: expected a question as {expected}, found {found}: {advice}")


def _checked(question: GoldQuestion, item: QuestionFields | Line, ids: QuestionIds) -> GoldQuestion:
    """Return the question with its id and its text trimmed; raise `InputError` where a text is missing or too long."""
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
    longest = max((len(text) for answer in question.answers for text in (answer.id or "", *answer.names)), default=0)
    if longest > MAX_ANSWER_CHARS:
        expected = f"answers of at most {MAX_ANSWER_CHARS:,} characters each"
        raise InputError(f"{item.where}: expected {expected}, found one of {longest:,}: shorten it")
    return replace(question, id=ids.id_of(question.id, item.number), text=text)
