"""Texts are sent to the database in requests of a bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, ground_questions
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.templates import MAX_REQUEST_CHARS, Request, split_into_requests


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
    sent: list[Sequence[Request[Any]]] = []
    gateway = SimpleNamespace(run_all=lambda requests: sent.append(requests) or [{} for _ in requests])
    ground_questions(questions, cast(Gateway, gateway))
    requests = sent[0]
    wanted = [[each["name"] for each in request.params["wanted"]] for request in requests]
    assert [name for some in wanted for name in some if name != "Peru"] == names
    assert max(sum(map(len, some)) for some in wanted) <= MAX_REQUEST_CHARS
