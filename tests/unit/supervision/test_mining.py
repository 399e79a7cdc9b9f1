"""What is mined from a graph small enough to see all its paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from lodestar.engine.errors import QueryTimeoutError
from lodestar.engine.gold_questions import (
    NO_ANSWER,
    NO_PATH,
    NO_TOPIC,
    TOO_LONG,
    GoldAnswer,
    GoldQuestion,
    SkippedQuestion,
)
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.supervision import MiningOptions, PathMiner, QuestionPaths
from lodestar.engine.supervision.mining import mine_in_halves

from tests.fakes.memory_graph import MemoryGraph
from tests.made.mined_graphs import catalogue_of, mediating_of

WORLD = MemoryGraph(
    [
        ("Peru", "capital", "Lima"),
        ("Chile", "capital", "Santiago"),
        ("Brazil", "capital", "Brasilia"),
        ("Bolivia", "capital", "La Paz"),
    ]
)


def asked(topic: str, *answers: str, text: str = "?", **fields: Any) -> GoldQuestion:
    return GoldQuestion("q", text, tuple(map(GoldAnswer, answers)), (topic,), **fields)


def mine(*questions: GoldQuestion, **options: Any) -> list[QuestionPaths | SkippedQuestion]:
    gateway = cast(Gateway, WORLD)
    return PathMiner(gateway, catalogue_of(WORLD), mediating_of(WORLD), MiningOptions(**options)).mine(questions)


def test_questions_that_teach_nothing_are_left_out_with_the_reason() -> None:
    found = mine(
        asked("Atlantis", "Lima"),
        asked("Peru", "Atlantis"),
        asked("Peru", "La Paz"),
        asked("Peru"),
        asked("Peru", "Lima"),
    )
    assert [each.reason if isinstance(each, SkippedQuestion) else "" for each in found] == [
        NO_TOPIC,
        NO_ANSWER,
        NO_PATH,
        NO_ANSWER,
        "",
    ]


def test_a_batch_that_takes_too_long_is_mined_in_halves_and_a_question_left_out() -> None:
    batch = [asked("Peru", "Lima"), asked("Chile", "Santiago"), replace(asked("Brazil", "Brasilia"), id="dear")]
    sizes: list[int] = []

    def mine_one(questions: Sequence[GoldQuestion]) -> list[QuestionPaths | SkippedQuestion]:
        sizes.append(len(questions))
        if len(questions) > 1 or questions[0].id == "dear":
            raise QueryTimeoutError("too long")
        return mine(*questions)

    assert mine_in_halves(mine_one, batch) == [*mine(*batch[:2]), SkippedQuestion("dear", TOO_LONG)]
    assert sizes == [3, 1, 2, 1, 1]
