"""Operator words: which words of a question change what is asked, and what a question asks for."""

from __future__ import annotations

import pytest
from lodestar.models.wording.operators import find_operators, find_placed_names, list_wanted_nouns


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


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("Which capital cities are in Peru?", "capital cities"),
        ("what are the names of the major rivers in ohio", "major rivers"),
        ("Could you tell me what is the tallest ship in Bonn?", "tallest ship"),
        ("Who is Ann?", ""),
    ],
)
def test_what_is_asked_for(text: str, noun: str) -> None:
    assert " ".join(list_wanted_nouns(text)) == noun


def test_names_after_a_preposition() -> None:
    assert find_placed_names("How many suppliers are in France?", []) == ["in France"]
    assert find_placed_names("who lives in the lower town", ["lower town"]) == ["in the lower town"]
    assert find_placed_names("HOW MANY SUPPLIERS ARE IN FRANCE", []) == []
