"""Question sets as the benchmarks ask them: by their topics."""

from __future__ import annotations

from pathlib import Path

from lodestar.engine.values import Question
from lodestar.loaders.question_sets import read_questions


def gold_questions(path: Path) -> tuple[list[Question], str]:
    """Return the questions of a file in its order, and the first 12 digits of its SHA-256, to name the data by."""
    found = read_questions(str(path))
    return [each.as_question(tuple(dict.fromkeys(each.topic_ids))) for each in found.questions], found.sha256[:12]
