from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.linking.full_text import FullTextLinker, write_full_text_queries
from lodestar.engine.linking.names import (
    MENTION_FEATURES,
    MENTION_WEIGHTS,
    QuestionWords,
    compute_features,
    compute_probabilities,
    find_mention,
)
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
        ("Who killed J.F.K.?", "jfk", "J.F.K."),
        ("who was hitler's wife", "hitler", "hitler"),
        ("Where is German spoken?", "de", "German"),
        ("Which film did David Lynch direct?", "lynch", "David Lynch"),
        ("What is the capital of Georgia?", "georgia", "Georgia"),
        ("Who ruled the Empire?", "empire", "Empire"),
        ("Which US state is the largest?", "us", "US"),
        ("who is president of the us", "us", "us"),
        ("Who is president of the US?", "us", "US"),
        ("Who was president of the U.S.?", "us", "U.S."),
        ("which film is the best", "film", "film"),
        ("Who was president during WW2?", "war", "WW2"),
        ("Who won WWII?", "war", "WWII"),
        ("Who won World War 2?", "war", "World War 2"),
        ("Who was the US president in 1901?", "president", "US president"),
        ("Which Canadian city is the largest?", "canada", "Canadian"),
        ("who is a french singer", "france", "french"),
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


def test_probabilities_are_those_of_the_formula() -> None:
    """1 / (1 + e^−(1·0.5 − 2·1)) = 1 / (1 + e^1.5), and 1 / 2."""
    assert compute_probabilities(np.array([[1.0, 2.0], [2.0, 1.0]]), (0.5, -1.0)) == pytest.approx(
        [0.182426, 0.5], abs=1e-6
    )
    words = QuestionWords("Where is Peru?")
    found = [m for each in POOL if (m := find_mention(words, each, 0.8))]
    assert compute_features(words, found, ()).shape == (2, len(MENTION_FEATURES)) == (2, len(MENTION_WEIGHTS))


def features_of(text: str, *pool: NamedEntity, type_words: Collection[str] = ()) -> dict[str, dict[str, float]]:
    words = QuestionWords(text)
    found = [mention for each in pool if (mention := find_mention(words, each, 0.8, type_words))]
    rows = compute_features(words, found, type_words).tolist()
    return {
        each.named.entity.id: {name: value for name, value in zip(MENTION_FEATURES, row, strict=True) if value}
        for each, row in zip(found, rows, strict=True)
    }


def test_features_of_mentions_by_hand() -> None:
    """Degrees of 99 and 9: log₁₀ 100 / 5 and log₁₀ 10 / 5; three words of which two are of content; a third of one's
    words."""
    found = features_of(
        "Who ruled the Empire of Japan?",
        named("empire", "Empire of Japan", degree=99),
        named("japan", "Japan", degree=9),
        named("sea", "Sea Near Japan", degree=99),
    )
    capitalised = {"1": 1.0, "capitalised in the question": 1.0}
    assert found["empire"] == pytest.approx(
        {**capitalised, "share of the name's words": 1, "words of content, 1 − 2^−n": 0.75, "degree, log₁₀ / 5": 0.4}
    )
    part = {**capitalised, "words of content, 1 − 2^−n": 0.5, "within a longer whole name": 1}
    assert found["japan"] == pytest.approx(
        {
            **part,
            "share of the name's words": 1,
            "degree, log₁₀ / 5": 0.2,
            "degree below the best of the same words": -0.2,
        }
    )
    assert found["sea"] == pytest.approx(
        {
            **part,
            "form: last": 1,
            "share of the name's words": 1 / 3,
            "degree, log₁₀ / 5": 0.4,
            "same words, better form elsewhere": 1,
        }
    )


@given(st.text(max_size=80))
def test_no_text_is_lucene_syntax(text: str) -> None:
    for query in write_full_text_queries(text, 100, 10):
        for part in re.split(r' (?=(?:[^"]*"[^"]*")*[^"]*$)', query.text):
            assert re.fullmatch(r'"[\w\u200b \'.:·’]+"(\^\d)?|\w+~\d', part), part
