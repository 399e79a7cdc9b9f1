from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.database.graph import NamedEntity
from lodestar.engine.linking.full_text import FullTextLinker, full_text_query, tokenise
from lodestar.engine.values import Entity


def named(id_: str, *names: str, degree: int = 10) -> NamedEntity:
    return NamedEntity(Entity(id_, names[0]), names, degree)


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
    return [scored.value.entity.id for scored in FullTextLinker().rank(text, POOL)]


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
    assert "utd" not in linked("the United States")


def test_ambiguity_is_ranked_by_degree_and_both_are_shown() -> None:
    assert linked("capital of Peru")[:2] == ["peru", "peru-in"]


def test_function_words_are_no_mention() -> None:
    assert linked("What of it?") == []


def test_the_mention_is_cut_from_the_question_as_written() -> None:
    (best, *_) = FullTextLinker().rank("What is PERU's capital?", POOL)
    assert best.value.mention == "PERU"


def test_a_question_of_function_words_searches_for_nothing_that_exists() -> None:
    assert full_text_query("what is it?") == '"\u200b"'


@given(st.text(max_size=80))
def test_no_text_is_lucene_syntax(text: str) -> None:
    query = full_text_query(text)
    for part in re.split(r' (?=(?:[^"]*"[^"]*")*[^"]*$)', query):
        assert re.fullmatch(r'"[\w\u200b ]+"(\^\d)?|\w+~\d', part), part


@given(st.text(max_size=80))
def test_tokens_stand_where_they_say(text: str) -> None:
    for token in tokenise(text):
        assert text.replace("_", " ")[token.start : token.end] == token.text
