"""Linking over a real graph: what a question is about, decided with what exists there."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest
from lodestar.engine.api import Engine
from lodestar.engine.errors import EntityNotFoundError
from lodestar.engine.linking.full_text import FullTextLinker
from lodestar.engine.neo4j.connection import Connection
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Settings
from lodestar.engine.values import Question

from tests.conftest import clear_database
from tests.made.graphs import TripleSource, load

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
]


@pytest.fixture(scope="module")
def films(gateway: Gateway, driver: neo4j.Driver, connection: Connection, settings: Settings) -> Iterator[Engine]:
    clear_database(driver, connection.database)
    load(TripleSource(TRIPLES, NAMES), gateway)
    with Engine(settings) as engine:
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
    ("text", "mentions"),
    [
        ("Which actors starred in both Heat and The Godfather?", {"Heat": "m.heat", "The Godfather": "m.godfather"}),
        ("Who leads the country whose capital is Lima, and who the Republican Party?", {"Lima": "m.lima"}),
    ],
)
def test_every_topic_of_a_question_is_found_with_its_span(films: Engine, text: str, mentions: dict[str, str]) -> None:
    found = {each.mention: each for each in films.link(text)}
    for mention, id_ in mentions.items():
        span = found[mention].span
        assert span is not None
        assert (found[mention].entity.id, text[span[0] : span[1]]) == (id_, mention)


def test_where_nothing_is_known_the_nearest_names_are_offered(films: Engine) -> None:
    with pytest.raises(EntityNotFoundError, match="no known entity in the question; did you mean Republican Party"):
        films.retrieve("who leads the Repuplikkan Patti")
    with pytest.raises(EntityNotFoundError, match="no entity has the id or name 'Perruu'; did you mean Peru"):
        films.retrieve(Question("What is the capital?", ("Perruu",)))
    (found,) = films.retrieve_batch(["xyzzy?"])
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


def test_of_many_of_one_name_the_number_read_is_bounded(gateway: Gateway) -> None:
    names = {f"u{n:04}": "Untitled" for n in range(1_500)} | {"long": "y " * 5_000, "e": " ", "a": "Ann"}
    triples = [(id_, "art.work.by", "a") for id_ in names if id_ != "a"]
    load(TripleSource([*triples, ("u0007", "art.work.of", "a")], names), gateway, mode="replace")
    (found,) = gateway.run(FullTextLinker().link([Question("Who made Untitled?")]))
    assert [each.entity.name for each in found] == ["Untitled"] * 10
    keys = [(-each.score, each.entity.id) for each in found]
    assert keys == sorted(keys)
