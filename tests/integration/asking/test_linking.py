"""Linking over a real graph: what a question is about, decided with what exists there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lodestar.engine.api import Engine
from lodestar.engine.data_model import Question

from tests.conftest import OpenOver
from tests.made.graphs import TripleSource

NAMES = {
    "m.city": "Paris", "m.hilton": "Paris", "m.france": "France", "m.lima": "Lima", "m.peru": "Peru",
    "m.rep": "Republican_Party", "m.usa": "United_States_of_America", "m.heat": "Heat", "m.pacino": "Al_Pacino",
    "m.deniro": "Robert_De_Niro", "m.godfather": "The_Godfather", "m.album": "Stars_Are_Blind",
    "m.pesci": "Joe_Pesci", "m.lodz": "Łódź", "m.anstad": "Øvre Ånstad", "m.street": "Bruchstraße",
}  # fmt: skip
TRIPLES = [
    ("m.france", "location.country.capital", "m.city"), ("m.rep", "government.political_party.country", "m.usa"),
    ("m.peru", "location.country.capital", "m.lima"), ("m.hilton", "music.artist.album", "m.album"),
    ("m.heat", "film.film.starring", "m.pacino"), ("m.heat", "film.film.starring", "m.deniro"),
    ("m.godfather", "film.film.starring", "m.pacino"), ("m.godfather", "film.film.starring", "m.pesci"),
    ("m.lodz", "location.location.contains", "m.street"), ("m.anstad", "location.location.contains", "m.street"),
]  # fmt: skip


@pytest.fixture(scope="module")
def films(open_over: OpenOver) -> Iterator[Engine]:
    with open_over(TripleSource(TRIPLES, NAMES)) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("Which album did Paris record as a music artist?", "m.hilton"),
        ("Paris is the capital of which country?", "m.city"),
    ],
)
def test_of_two_of_a_name_the_one_is_meant_at_which_what_is_asked_exists(films: Engine, text: str, id_: str) -> None:
    best, other = films.link(text)[:2]
    assert (best.entity.id, {best.entity.id, other.entity.id}) == (id_, {"m.city", "m.hilton"})
    assert best.score > other.score
    (asked,) = films.ask_batch([text])
    assert asked.evidence.topics[0].entity.id == id_
    assert asked.evidence.topics[0].probability == asked.evidence.topics[0].score


def test_where_nothing_is_known_the_nearest_names_are_offered(films: Engine) -> None:
    note = films.retrieve("who leads the Repuplikkan Patti").note
    assert note.startswith("no known entity in the question; did you mean Republican Party")
    answer = films.ask(Question("What is the capital?", ("Perruu",)))
    assert "no entity has the id or name 'Perruu'; did you mean Peru" in answer.text
    assert answer.reason == "nothing linked"
    found = films.retrieve("xyzzy?")
    assert (found.note, found.extras) == ("no known entity in the question", ())


# Of entities of one name the one is meant that has the place or the year beside it: towns, films, firms

PLACES = {
    "a.1": "Arden", "a.2": "Arden", "a.3": "Arden", "a.ohio": "Ohio", "a.lake": "Lake County", "a.kent": "Kent",
    "b.1": "Ember", "b.2": "Ember", "b.3": "Ember", "b.ann": "Ann Lee", "b.bo": "Bo Ray", "b.cy": "Cy Dow",
    "c.1": "Borealis", "c.2": "Borealis", "c.oslo": "Oslo", "c.york": "York", "c.eva": "Eva Moe", "c.tom": "Tom Fry",
}  # fmt: skip
BESIDE = [
    ("a.1", "town.county", "a.lake"), ("a.lake", "county.state", "a.ohio"), ("a.2", "town.state", "a.kent"),
    ("a.1", "town.mayor", "b.ann"), ("a.2", "town.mayor", "b.bo"), ("a.3", "town.mayor", "b.cy"),
    ("b.1", "film.director", "b.ann"), ("b.1", "film.release_year", "1987"), ("b.2", "film.director", "b.bo"),
    ("b.2", "film.release_year", "1995-03-01"), ("b.3", "film.director", "b.cy"), ("c.1", "firm.seat", "c.oslo"),
    ("c.1", "firm.head", "c.eva"), ("c.2", "firm.seat", "c.york"), ("c.2", "firm.head", "c.tom"),
]  # fmt: skip


@pytest.fixture(scope="module")
def namesakes(open_over: OpenOver) -> Iterator[Engine]:
    with open_over(TripleSource(BESIDE, PLACES)) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Who is the mayor of Arden, Ohio?", "Ann Lee"),
        ("Who is the mayor of Arden (Kent)?", "Bo Ray"),
        ("Who is the director of the 1987 film Ember?", "Ann Lee"),
        ("Who is the director of Ember (1995)?", "Bo Ray"),
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
