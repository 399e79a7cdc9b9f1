"""Names of any script, with signs, very long or empty: found, never query syntax, in bounded time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import neo4j
import pytest
from lodestar.engine.api import Engine
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection, Settings

from tests.conftest import clear_database
from tests.made.graphs import TripleSource, load

HARD_NAMES = {
    "h.lucene": '+Yes AND (title:"no" OR *) ~ ^2 [a TO b] {c} \\ / && || !',
    "h.not": "Not",
    "h.stars": "***",
    "h.colon": "Mission: Impossible",
    "h.slash": "AC/DC",
    "h.joined": "Wave:CD",
    "h.points": "will.i.am",
    "h.small": "The Who",
    "h.emoji": "🎬👩‍👩‍👧",
    "h.arabic": "جمهورية مصر العربية",
    "h.hebrew": "ירושלים",
    "h.chinese": "中华人民共和国",
    "h.japanese": "千と千尋の神隠し",
    "h.thai": "กรุงเทพมหานคร",
    "h.long": "Endless Story " + "and on " * 1_500,
    "h.empty": " ",
    "h.zero": "\u200b",
    "h.quote": "\"quoted\" 'name'",
    "h.combining": "Ame\u0301lie",
}


@pytest.fixture(scope="module")
def hard(gateway: Gateway, driver: neo4j.Driver, connection: Connection, settings: Settings) -> Iterator[Engine]:
    clear_database(driver, connection.database)
    load(TripleSource([(id_, "work.kind", "m.kind") for id_ in HARD_NAMES], HARD_NAMES), gateway)
    with Engine(settings) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("Who made Mission: Impossible?", "h.colon"),
        ("WHO MADE MISSION IMPOSSIBLE", "h.colon"),
        ("who made mission impossible", "h.colon"),
        ("Who plays in AC/DC?", "h.slash"),
        ("which tracks has Wave:CD ?", "h.joined"),
        ("Which band is will.i.am in?", "h.points"),
        ("who is the drummer of The Who?", "h.small"),
        ("WHO PLAYS IN AC/DC", "h.slash"),
        ("ما هي عاصمة جمهورية مصر العربية؟", "h.arabic"),
        ("איפה נמצאת ירושלים?", "h.hebrew"),
        ("中华人民共和国的首都是哪里", "h.chinese"),
        ("千と千尋の神隠しの監督は誰ですか", "h.japanese"),
        ("who said quoted name", "h.quote"),
        ("Who directed Amélie?", "h.combining"),
        ("who directed AMELIE", "h.combining"),
        ("who wrote endless story", "h.long"),
    ],
)
def test_names_of_any_script_and_with_signs_are_found(hard: Engine, text: str, id_: str) -> None:
    assert [each.entity.id for each in hard.link(text)][:1] == [id_]


@pytest.mark.parametrize("name", HARD_NAMES.values(), ids=HARD_NAMES)
def test_a_name_asked_as_it_is_written_breaks_nothing_and_takes_bounded_time(hard: Engine, name: str) -> None:
    started = time.perf_counter()
    found = hard.link(f"What is {name[:9_900]}?")
    assert time.perf_counter() - started < 20
    assert {each.entity.id for each in found} <= HARD_NAMES.keys()
    assert [(-each.score, each.entity.id) for each in found] == sorted((-each.score, each.entity.id) for each in found)
