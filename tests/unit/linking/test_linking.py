from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.linking.full_text import FullTextLinker, write_full_text_queries
from lodestar.engine.neo4j.graph import NamedEntity
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


def test_a_query_has_bounded_clauses_and_there_are_boundedly_many() -> None:
    """Of the first 256 words: 128 pairs that a full stop joins, each word, and 16 pairs of neighbours are asked for at
    once, 24 of each alone."""
    words = [f"p{n}q" for n in range(300)]
    queries = write_full_text_queries(" ".join(".".join(words[at : at + 2]) for at in range(0, 300, 2)), 100, 10)
    assert queries[0].text.count('"^') == 400
    assert len(queries) == 1 + 3 * 24
    assert (queries[24].text, queries[48].text, queries[72].text) == ('"p46q.p47q"', '"p23q"', '"p23q p24q"')


@given(st.text(max_size=80))
def test_no_text_is_lucene_syntax(text: str) -> None:
    for query in write_full_text_queries(text, 100, 10):
        for part in re.split(r' (?=(?:[^"]*"[^"]*")*[^"]*$)', query.text):
            assert re.fullmatch(r'"[^"\\]+"(\^\d)?|[^\s!-&(-/:-@\[-`{-~]+~\d', part), part
