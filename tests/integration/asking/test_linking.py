"""Linking over a real graph: what a question is about, decided with what exists there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lodestar.engine.api import Engine
from lodestar.engine.values import Question

from tests.conftest import OpenOver
from tests.made.graphs import TripleSource

NAMES = {
    "m.city": "Paris",
    "m.hilton": "Paris",
    "m.france": "France",
    "m.lima": "Lima",
    "m.peru": "Peru",
    "m.rep": "Republican_Party",
    "m.usa": "United_States_of_America",
    "m.heat": "Heat",
    "m.pacino": "Al_Pacino",
    "m.deniro": "Robert_De_Niro",
    "m.godfather": "The_Godfather",
    "m.album": "Stars_Are_Blind",
    "m.pesci": "Joe_Pesci",
    "m.lodz": "Łódź",
    "m.anstad": "Øvre Ånstad",
    "m.street": "Bruchstraße",
}
TRIPLES = [
    ("m.france", "location.country.capital", "m.city"),
    ("m.rep", "government.political_party.country", "m.usa"),
    ("m.peru", "location.country.capital", "m.lima"),
    ("m.hilton", "music.artist.album", "m.album"),
    ("m.heat", "film.film.starring", "m.pacino"),
    ("m.heat", "film.film.starring", "m.deniro"),
    ("m.godfather", "film.film.starring", "m.pacino"),
    ("m.godfather", "film.film.starring", "m.pesci"),
    ("m.lodz", "location.location.contains", "m.street"),
    ("m.anstad", "location.location.contains", "m.street"),
]


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


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("What is in Lodz?", "m.lodz"),
        ("What is in Łódź?", "m.lodz"),
        ("What is in Ovre Anstad?", "m.anstad"),
        ("Where is Bruchstrasse?", "m.street"),
        ("Where is the BRUCHSTRASSE?", "m.street"),
    ],
)
def test_a_name_is_found_without_its_marks(films: Engine, text: str, id_: str) -> None:
    assert films.link(text)[0].entity.id == id_
    assert films.ask(text).evidence.topics[0].entity.id == id_


def test_where_nothing_is_known_the_nearest_names_are_offered(films: Engine) -> None:
    note = films.retrieve("who leads the Repuplikkan Patti").note
    assert note.startswith("no known entity in the question; did you mean Republican Party")
    answer = films.ask(Question("What is the capital?", ("Perruu",)))
    assert "no entity has the id or name 'Perruu'; did you mean Peru" in answer.text
    assert answer.reason == "nothing linked"
    found = films.retrieve("xyzzy?")
    assert (found.note, found.extras) == ("no known entity in the question", ())


@pytest.mark.parametrize(
    "text",
    [
        '+Peru AND (title:"x" OR *) ~ ^2 [a TO b] {c} \\ / && || !',
        " ".join(f"word{n}ian" for n in range(900)),
        "🎬" * 200,
        "東京はどこの首都ですか" * 50,
        "من هو رئيس مصر؟",
        "x" * 10_000,
    ],
)
def test_no_text_breaks_a_query(films: Engine, text: str) -> None:
    (found,) = films.retrieve_batch([text])
    assert found.question.text == text
    assert {topic.entity.id for topic in found.topics} <= {"m.peru"}
