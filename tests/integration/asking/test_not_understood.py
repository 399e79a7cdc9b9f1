"""Words of a question that no path uses: the answer is not given, on graphs of three kinds, and says which words."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.integrations import EvidenceFinder
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection, Settings

from tests.conftest import clear_database
from tests.made.plain_graph import write_graph

NAMES = {
    "k.state": "state", "k.city": "city", "k.peak": "peak", "k.film": "film", "k.person": "person", "k.supplier": "supplier",
    "s.a": "Arvonia", "s.b": "Brelland", "s.c": "Cormark", "c.a": "Asterby", "c.b": "Bellford", "p.a": "Mount Agate",
    "f.x": "Xanadu Road", "f.y": "Yellow Door", "f.z": "Zinc", "m.ann": "Ann Alder", "m.bob": "Bob Birch",
    "u.one": "Norrick Foods", "u.two": "Delmar Trading", "g.tea": "Green Tea", "g.jam": "Plum Jam",
}  # fmt: skip
LITERALS = {'"1979"': "1979", '"1990"': "1990", '"18"': "18", '"90"': "90", '"80"': "80", '"812"': "812"}
TRIPLES = [
    *((each, "type", "k.state") for each in ("s.a", "s.b", "s.c")),
    *((each, "type", "k.city") for each in ("c.a", "c.b")),
    *((each, "type", "k.film") for each in ("f.x", "f.y", "f.z")),
    *((each, "type", "k.person") for each in ("m.ann", "m.bob")),
    *((each, "type", "k.supplier") for each in ("u.one", "u.two")),
    ("s.a", "borders", "s.b"), ("s.b", "borders", "s.a"), ("s.b", "borders", "s.c"), ("s.c", "borders", "s.b"),
    ("s.a", "capital", "c.a"), ("s.b", "capital", "c.b"), ("s.a", "highest_point", "p.a"), ("p.a", "elevation", '"812"'),
    ("f.x", "directed_by", "m.ann"), ("f.y", "directed_by", "m.ann"), ("f.z", "directed_by", "m.bob"),
    ("f.x", "release_year", '"1979"'), ("f.y", "release_year", '"1990"'),
    ("g.tea", "supplied_by", "u.one"), ("g.jam", "supplied_by", "u.two"),
    ("m.ann", "mother", "m.bob"), ("g.tea", "unit_price", '"18"'), ("g.jam", "unit_price", '"90"'), ("g.tea", "units_on_order", '"80"'),
]  # fmt: skip


@pytest.fixture(scope="module")
def engine(gateway: Gateway, driver: neo4j.Driver, connection: Connection, settings: Settings) -> Iterator[Engine]:
    clear_database(driver, connection.database)
    write_graph(driver, gateway, TRIPLES, NAMES, literals=LITERALS)
    with Engine(settings, recipe="similarity") as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is not supplied by Norrick Foods?", {"not"}),
        ("Which states border Brelland before the war?", {"before"}),
        ("What is the average elevation of Mount Agate?", {"average"}),
        ("What is the average release year of Zinc by Bob Birch?", {"average"}),
        ("Which city borders Arvonia?", {"city"}),
        ("Which film is supplied by Norrick Foods?", {"film"}),
        ("What is the elevation of the capital of Arvonia?", {"capital"}),
        ("What is the release year of what Norrick Foods supplied?", {"release year"}),
    ],
)
def test_words_that_no_path_uses(engine: Engine, text: str, words: set[str]) -> None:
    (answer,) = engine.ask_batch([text])
    if not answer.found and not answer.not_understood:
        assert answer.evidence.reason or "probability" in answer.text  # too unlikely to be stated anyway
        return
    assert not answer.found, answer.text
    assert words <= set(answer.not_understood), answer.not_understood
    assert all(word in answer.text for word in words)
    assert answer.reason == "not understood"
    assert answer.nearest is not None
    assert answer.nearest.found
    data = answer.to_dict()
    assert (data["kind"], data["reason"], data["answers"]) == ("none", "not understood", [])
    assert data["nearest"]["kind"] != "none"


def test_some_are_withheld(engine: Engine) -> None:
    """The path of the plain question is sure here, so that its words alone are why there is no answer."""
    texts = ["Which states border Brelland?", "Which states border Brelland since the war?"]
    plain, timed = engine.ask_batch(texts)
    assert set(plain.names) == {"Arvonia", "Cormark"}, plain.text
    assert timed.not_understood == ("since",), timed.text


@pytest.mark.parametrize(
    "text",
    [
        "Who was Ann Alder's director?",
        "Who directed Ann Alder?",
        "What was supplied by Green Tea?",
        "Who is the father of Ann Alder?",
        "What is the capital of Cormark?",
    ],
)
def test_what_says_another_thing_is_no_answer(engine: Engine, text: str) -> None:
    answer = engine.ask(text)
    wrong = {"Xanadu Road", "Yellow Door", "Norrick Foods", "Bob Birch", "Bellford"}
    assert not wrong & set(answer.names), answer.text


def test_a_filter_holds_for_what_a_plan_would_give(engine: Engine) -> None:
    text = "Which films were directed by Ann Alder?"
    assert set(engine.ask(text).names) == {"Xanadu Road", "Yellow Door"}
    assert set(engine.ask(text, filter={"release_year": 1990.0}).names) <= {"Yellow Door"}


def test_a_word_of_a_relation_is_understood(engine: Engine) -> None:
    (answer,) = engine.ask_batch(["What is the highest point of Arvonia?"])
    assert answer.names == ("Mount Agate",), answer.text


def test_what_goes_through_the_same_thing_is_understood(engine: Engine) -> None:
    asked = [f"{what} the same {{}} as Xanadu Road?" for what in ("What has", "Which films have")]
    for same in engine.ask_batch([each.format("director") for each in asked]):
        assert same.names == ("Yellow Door",), same.text
    for other in engine.ask_batch([each.format("country") for each in asked]):
        assert not other.found, other.text


def test_a_number_in_a_comparison_is_no_topic(engine: Engine) -> None:
    answers = engine.ask_batch(
        ["What has a unit price above 80?", "Which films were released after 1979?", "Which peaks are over 812 high?"]
    )
    for answer in answers:
        assert all(not topic.entity.is_literal for topic in answer.evidence.topics), answer.evidence.topics


@pytest.mark.parametrize("noun", ["big\\ states", 'big" states', "big~*:^ states", "(big states"])
def test_odd_characters_in_what_is_asked_for_do_no_harm(engine: Engine, noun: str) -> None:
    (answer,) = engine.ask_batch([f"Which {noun} border Brelland?"])
    assert answer.failure is None


def test_frameworks_say_that_it_was_not_understood(engine: Engine) -> None:
    items = EvidenceFinder(engine).find("Which states border Brelland since the war?")
    assert items
    assert all(item.metadata["abstained"] for item in items)
    assert [item.metadata["not_understood"] for item in items] == [["since"]] * len(items)
    assert EvidenceFinder(engine, leave_out_abstained=True).find("Which states border Brelland since the war?") == []
