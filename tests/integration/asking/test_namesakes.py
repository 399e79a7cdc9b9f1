"""Of entities of one name the one is meant that has the place or the year beside it: towns, films, firms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lodestar.engine.api import Engine

from tests.conftest import OpenOver
from tests.made.graphs import TripleSource

PLACES = {
    "a.1": "Arden", "a.2": "Arden", "a.3": "Arden", "a.ohio": "Ohio", "a.lake": "Lake County", "a.kent": "Kent",
    "b.1": "Ember", "b.2": "Ember", "b.3": "Ember", "b.ann": "Ann Lee", "b.bo": "Bo Ray", "b.cy": "Cy Dow",
    "c.1": "Borealis", "c.2": "Borealis", "c.oslo": "Oslo", "c.york": "York", "c.eva": "Eva Moe", "c.tom": "Tom Fry",
}  # fmt: skip
BESIDE = [
    ("a.1", "town.county", "a.lake"),
    ("a.lake", "county.state", "a.ohio"),
    ("a.2", "town.state", "a.kent"),
    ("a.1", "town.mayor", "b.ann"),
    ("a.2", "town.mayor", "b.bo"),
    ("a.3", "town.mayor", "b.cy"),
    ("b.1", "film.director", "b.ann"),
    ("b.1", "film.release_year", "1987"),
    ("b.2", "film.director", "b.bo"),
    ("b.2", "film.release_year", "1995-03-01"),
    ("b.3", "film.director", "b.cy"),
    ("c.1", "firm.seat", "c.oslo"),
    ("c.1", "firm.head", "c.eva"),
    ("c.2", "firm.seat", "c.york"),
    ("c.2", "firm.head", "c.tom"),
]


@pytest.fixture(scope="module")
def namesakes(open_over: OpenOver) -> Iterator[Engine]:
    with open_over(TripleSource(BESIDE, PLACES)) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Who is the mayor of Arden, Ohio?", "Ann Lee"),
        ("Who is the mayor of Arden (Kent)?", "Bo Ray"),
        ("who is the mayor of arden, kent", "Bo Ray"),
        ("Who is the director of the 1987 film Ember?", "Ann Lee"),
        ("Who is the director of Ember (1995)?", "Bo Ray"),
        ("Who is the director of Ember from 1995?", "Bo Ray"),
        ("Who is the head of Borealis, Oslo?", "Eva Moe"),
    ],
)
def test_a_place_or_a_year_beside_a_name_says_which_is_meant(namesakes: Engine, text: str, answer: str) -> None:
    assert [each.name for each in namesakes.ask(text).answers] == [answer]


@pytest.mark.parametrize(
    "text",
    [
        "Who is the mayor of Arden, Oslo?",
        "Who is the director of the 2001 film Ember?",
        "Who is the head of Borealis, Finland?",
    ],
)
def test_a_place_or_a_year_that_none_of_a_name_has_states_nothing(namesakes: Engine, text: str) -> None:
    answer = namesakes.ask(text)
    assert answer.not_understood or answer.unsure
