"""Questions from the command line, a file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import click

from ...errors import InputError, LodestarError, UsageError
from ...values import Question
from ...whole_file import parsed_json

MAX_LINE_CHARS = 1_000_000
MAX_CHARS = 200_000_000


def questions_from(texts: Sequence[str], file: str | None, topics: Sequence[str]) -> list[Question]:
    """Return the questions given as arguments and in `file` (`-` is standard input).

    A line of a file is a question, or a JSON object with `question` and, if wanted, `id` and `topic_entities`, or
    `topic_names`.
    Blank lines are passed over. Raises `InputError` with file and line, `UsageError` when there is no question.
    """
    questions = [Question(text, tuple(topics)) for text in texts]
    if file is not None:
        where = "standard input" if file == "-" else file
        for number, line in enumerate(_lines(file), start=1):
            if line.strip():
                try:
                    questions.append(_parsed(line.strip(), topics))
                except (LodestarError, ValueError) as error:
                    raise InputError(f"{where}:{number}: {error}") from error
    if not questions:
        raise UsageError("no question: give one as an argument, or a file of questions with --file (- is stdin)")
    return questions


def _lines(file: str) -> list[str]:
    if file == "-" and sys.stdin is None:
        raise InputError("standard input: expected questions, found it closed")
    try:
        with click.open_file(file, encoding="utf-8") as stream:
            return _bounded(stream, file)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{Path(file)}: expected UTF-8 text: {error.reason} at byte {error.start}") from error


def _bounded(stream: IO[str], file: str) -> list[str]:
    lines: list[str] = []
    chars = 0
    while line := stream.readline(MAX_LINE_CHARS + 1):
        chars += len(line)
        if len(line) > MAX_LINE_CHARS:
            raise InputError(
                f"{file}:{len(lines) + 1}: expected a question in a line of at most {MAX_LINE_CHARS:,} characters"
            )
        if chars > MAX_CHARS:
            raise InputError(f"{file}: expected questions of at most {MAX_CHARS:,} characters together: ask in parts")
        lines.append(line)
    return lines


def _parsed(line: str, topics: Sequence[str]) -> Question:
    if not line.startswith("{"):
        return Question(line, tuple(topics))
    record = parsed_json(line)
    text, id_ = record.get("question"), record.get("id", "")
    given = [record[name] for name in ("topic_entities", "topic_names") if record.get(name) not in (None, [])]
    named = given[0] if given else list(topics)
    if not isinstance(text, str) or not isinstance(named, list) or not all(isinstance(n, str) for n in named):
        raise ValueError('expected {"question": text, "id": text, "topic_entities": [ids] or "topic_names": [names]}')
    return Question(text, tuple(named), str(id_))
