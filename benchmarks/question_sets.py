"""Question sets as the benchmarks ask them: ids of right answers, and the hops to one of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lodestar.engine.gold_questions import QuestionSet
from lodestar.engine.values import Question
from lodestar.loaders.question_sets import read_questions


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with its gold answers (ids) and the fewest hops from a topic entity to one of them."""

    question: Question
    answers: frozenset[str]
    min_hops: int


def gold_questions(path: Path) -> tuple[list[GoldQuestion], str]:
    """Return the questions of a file in its order, and the first 12 digits of its SHA-256, to name the data by."""
    found: QuestionSet = read_questions(str(path))
    golds = [
        GoldQuestion(
            each.as_question(tuple(dict.fromkeys(each.topic_ids))),
            frozenset(answer.id for answer in each.answers if answer.id),
            each.num_hops or 0,
        )
        for each in found.questions
    ]
    return golds, found.sha256[:12]
