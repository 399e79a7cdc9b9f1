"""Names in questions: forms and spellings that find them, their ranks, the values beside them, and where a search starts."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.data_model import Entity, Question, Topic
from lodestar.engine.linking import compute_link_penalties, look_up_topics, select_start_topics
from lodestar.engine.linking.entity_linker import (
    FullTextLinker,
    find_value_topics,
    parse_values,
    write_full_text_queries,
)
from lodestar.engine.neo4j.graph_requests import EntityWithSearchNames
from lodestar.engine.writing import build_search_terms

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph


def named(id_: str, *names: str, degree: int = 10) -> EntityWithSearchNames:
    return EntityWithSearchNames(Entity(id_, names[0]), names, degree)


POOL = [
    named("us", "United States of America", "United States", "USA", degree=900),
    named("utd", "United", degree=30),
    named("peru", "Peru", degree=300),
    named("peru-in", "Peru", degree=8),
    named("zurich", "Zürich", "Zurich", degree=50),
    named("nice", "Nice", degree=40),
    named("of", "Of", degree=4),
    named("sao", "São Paulo", degree=80),
]


def linked(text: str) -> list[str]:
    return [scored.entity.id for scored in FullTextLinker().rank(text, POOL)]


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("What is the capital of Peru?", "peru"),
        ("who was president of the united states in 1950", "us"),
        ("Which lakes are near zurich?", "zurich"),
        ("Which lakes are near Züirch?", "zurich"),
        ("sao paulo's population", "sao"),
        ("Who lives in Nice", "nice"),
    ],
)
def test_names_aliases_accents_typos_and_possessives(text: str, best: str) -> None:
    assert linked(text)[0] == best


def test_the_longer_mention_wins_over_a_part_of_it() -> None:
    best, part = FullTextLinker().rank("the United States", POOL)
    assert (best.entity.id, part.entity.id) == ("us", "utd")
    assert part.score < best.score / 10


PEOPLE = [
    named("jfk", "John F. Kennedy", "JFK", degree=200),
    named("hitler", "Adolf Hitler", "AH", degree=90),
    named("de", "German Language", "GL", degree=150),
    named("film", "Film", degree=900),
    named("lynch", "David Keith Lynch", "DKL", degree=80),
    named("georgia", "Georgia (country)", degree=80),
    named("empire", "Empire of Japan", "EJ", degree=40),
    named("us", "United States of America", "USA", "US", degree=900),
    named("rose", "The Name of the Rose-US", "NRU", degree=60),
    named("war", "World War II", "WWI", degree=90),
    named("president", "President of the United States", "PUS", degree=20),
    named("canada", "Canada", degree=200),
    named("france", "France", degree=200),
    named("choice", "Sophie's Choice", degree=20),
    named("tokyo", "東京都", degree=20),
]


@pytest.mark.parametrize(
    ("text", "id_", "mention"),
    [
        ("Who killed JFK?", "jfk", "JFK"),
        ("who was hitler's wife", "hitler", "hitler"),
        ("Where is German spoken?", "de", "German"),
        ("Which film did David Lynch direct?", "lynch", "David Lynch"),
        ("What is the capital of Georgia?", "georgia", "Georgia"),
        ("Which US state is the largest?", "us", "US"),
        ("Who was president of the U.S.?", "us", "U.S."),
        ("which film is the best", "film", "film"),
        ("Who was president during WW2?", "war", "WW2"),
        ("Who won World War 2?", "war", "World War 2"),
        ("Who was the US president in 1901?", "president", "US president"),
        ("Which Canadian city is the largest?", "canada", "Canadian"),
        ("Who plays in Sophie's Choice?", "choice", "Sophie's Choice"),
        ("東京都の人口は", "tokyo", "東京都"),
    ],
)
def test_shorter_forms(text: str, id_: str, mention: str) -> None:
    (best, *_) = FullTextLinker(type_words={"film", "language", "country"}).rank(text, PEOPLE)
    assert (best.entity.id, best.mention) == (id_, mention)
    assert best.probability == best.score


@given(st.text(max_size=80))
def test_no_text_is_lucene_syntax(text: str) -> None:
    for query in write_full_text_queries(text, 100, 10):
        for part in re.split(r' (?=(?:[^"]*"[^"]*")*[^"]*$)', query.text):
            assert re.fullmatch(r'"[^"\\]+"(\^\d)?|[^\s!-&(-/:-@\[-`{-~]+~\d', part), part


def test_initials_come_behind_all_names() -> None:
    assert build_search_terms(["United_States_of_America", "The States"]) == [
        "United States of America",
        "The States",
        "USA",
        "US",
    ]
    assert build_search_terms([" "]) is None


GRAPH = MemoryGraph(
    [("ann", "hired", '"2016-07-16"^^<d>'), ("bob", "hired", '"2016-07-16T08:00:00"^^<t>'), ("ann", "wage", '"41000"')],
    literals={
        '"2016-07-16"^^<d>': "2016-07-16",
        '"2016-07-16T08:00:00"^^<t>': "2016-07-16T08:00:00",
        '"41000"': "41000",
    },
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("hired on 2016-07-16?", [("2016-07-16",)]),
        ("hired on 16 July 2016?", [("2016-07-16", "16 July 2016")]),
        ("hired on July 1st, 2016?", [("2016-07-01", "July 1st, 2016")]),
        ("born in 1970", [("1970",)]),
        ("hired on 2016-07-16, not in 1970", [("2016-07-16",), ("1970",)]),
        ("a salary of 41,000 EUR", [("41,000 EUR", "41,000EUR", "41000 EUR"), ("41000", "41,000")]),
        ("the motto “carpe diem”", [("carpe diem",)]),
        ("7 things, v1.2, A4", []),
        ("17 of 1,000", [("17 of", "17of"), ("17",), ("1000", "1,000")]),
    ],
)
def test_values_in_a_question(text: str, written: list[tuple[str, ...]]) -> None:
    assert [value.written for value in parse_values(text)] == written


def test_a_date_is_surer_than_a_number_and_both_stand_in_the_question() -> None:
    text = "who was hired on 2016-07-16 for 41000"
    (found,) = find_value_topics(make_context(GRAPH).db, [text])
    assert [
        (topic.matched_name, topic.score, topic.probability, topic.mention, topic.span, topic.kind) for topic in found
    ] == [
        ("2016-07-16", 0.9, 0.9, "2016-07-16", (17, 27), "value"),
        ("2016-07-16T08:00:00", 0.9, 0.9, "2016-07-16", (17, 27), "value"),
        ("41000", 0.5, 0.5, "41000", (32, 37), "value"),
    ]


def test_a_search_starts_from_all_that_is_given_else_from_the_best_that_are_likely_enough() -> None:
    found = [Topic(Entity(id_), score=score, matched_name=id_) for id_, score in (("a", 0.8), ("b", 0.4), ("c", 0.3))]
    given = Topic(Entity("d"))

    def starts(topics: Sequence[Topic], most: int, least: float) -> list[str]:
        return [topic.entity.id for topic in select_start_topics(topics, most, least)]

    assert starts(found, 9, 0.5) == ["a", "b"]
    assert starts(found, 1, 0.5) == ["a"]
    assert starts([given, given], 1, 0.5) == ["d", "d"]
    assert starts([given, *found], 2, 0.5) == ["d", "a"]
    assert compute_link_penalties(found[:2], 0.5) == pytest.approx({"a": 0, "b": -0.2})
    assert compute_link_penalties([], 0.5) == {}


def test_a_literal_that_the_asker_names_by_id() -> None:
    (question,) = look_up_topics(make_context(GRAPH).db, [Question("who?", ('"41000"',))], [()])
    assert [(t.entity.label, t.matched_name) for t in question.topics] == [("41000", "")]
