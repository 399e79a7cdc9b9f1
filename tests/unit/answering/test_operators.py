"""Operator words: which words of a question change what is asked, and what a question asks for."""

from __future__ import annotations

import pytest
from lodestar.models.wording import find_operators


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Which states do not border Texas?", ["not"]),
        ("Which films other than Heat did he direct?", ["other than"]),
        ("Which bridges are over 90 m long?", ["over"]),
        ("Which bridge is over the Danube?", []),
        ("What is his last name?", []),
        ("What is the cheapest hotel in the forest?", ["cheapest"]),
        ("Which guest has the most interest in the west?", ["most"]),
        ("What is the average salary per department?", ["average", "per"]),
        ("Which film won Ann Alder of Bonn her second prize at home?", []),
        ("Who wrote The Last Resort?", []),
    ],
)
def test_operator_words(text: str, said: list[str]) -> None:
    assert [operator.said for operator in find_operators(text)] == said


def test_words_of_names_are_no_operators() -> None:
    assert find_operators("who wrote never let me go", ["Never Let Me Go"]) == []
