"""Texts are sent to the database in requests of a bounded size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, ground_questions
from lodestar.engine.neo4j.templates import MAX_REQUEST_CHARS, split_into_requests
from lodestar.engine.steps import check_database_requests


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["a", "b", "c"], [["a", "b"], ["c"]]),
        (["a" * 9, "bb", "c"], [["a" * 9], ["bb", "c"]]),
        (["a", "b" * 11, "c"], [["a"], ["b" * 11], ["c"]]),
        (["a" * 5, "b" * 5, "c"], [["a" * 5, "b" * 5], ["c"]]),
    ],
)
def test_a_request_has_so_many_texts_and_so_many_characters(texts: list[str], expected: list[list[str]]) -> None:
    assert list(split_into_requests(texts, 2, len, 10)) == expected


def test_the_long_names_of_many_questions_are_looked_up_in_several_requests() -> None:
    names = [f"{number:04}" + "x" * 19_996 for number in range(500)]
    questions = [GoldQuestion(name[:4], "?", (GoldAnswer(None, (name,)),), topic_names=("Peru",)) for name in names]
    group = next(ground_questions(questions))
    assert isinstance(group, Sequence)
    requests = check_database_requests(group)
    wanted = [[each["name"] for each in request.params["wanted"]] for request in requests]
    assert [name for some in wanted for name in some if name != "Peru"] == names
    assert max(sum(map(len, some)) for some in wanted) <= MAX_REQUEST_CHARS
