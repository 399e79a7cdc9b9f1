from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.indexes.entity_index import NearEntity, NearestEntitySearch
from lodestar.engine.linking.full_text import FullTextLinker, write_full_text_queries
from lodestar.engine.linking.names import (
    MENTION_FEATURES,
    MENTION_WEIGHTS,
    QuestionWords,
    compute_features,
    compute_probabilities,
    find_mention,
)
from lodestar.engine.neo4j.graph import NamedEntity, NameQuery
from lodestar.engine.neo4j.templates import Row
from lodestar.engine.values import Entity, Question

from tests.fakes.memory_graph import MemoryGraph


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


class Near:
    """Finds two entities near the last word of every question, one of which has gone from the graph."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []

    def find_nearest(self, words: Sequence[str], _is_content: Sequence[bool]) -> list[NearEntity]:
        self.asked.append(words)
        last = len(words) - 1
        return [NearEntity(id_, last, last + 1, 0.8) for id_ in ("peru", "land", "gone")]


class PoolGraph(MemoryGraph):
    """Finds the same names by any words."""

    def __init__(self, *pool: NamedEntity) -> None:
        super().__init__([("a", "r", "b")])
        self.pool = pool

    def _find_entity_candidates(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        every = [(at, each) for at in {query["question"] for query in params["queries"]} for each in self.pool]
        return [(at, n.entity.id, n.entity.name, list(n.search_names), n.degree) for at, n in every]


class NamedGraph(PoolGraph):
    """Has the names of one entity more, which no word finds."""

    def _read_search_names(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        known = {"peru": ("Peru", 300), "land": ("Inca land", 7)}
        return [(id_, known[id_][0], [known[id_][0]], known[id_][1]) for id_ in params["ids"] if id_ in known]


def test_where_no_name_is_likely_entities_near_the_words_are_candidates_too() -> None:
    near = Near()
    linker = FullTextLinker(nearest=cast(NearestEntitySearch, near), nearest_below=0.3)
    graph = NamedGraph(*POOL)
    sure, unsure = graph.run(linker.link([Question("Where is Peru?"), Question("what of the incas")]))
    assert near.asked == [["what", "of", "the", "incas"]]
    assert sure[0].entity.id == "peru"
    assert "land" not in {each.entity.id for each in sure}
    (found,) = [each for each in unsure if each.entity.id == "land"]
    assert (found.mention, found.matched_name, found.degree) == ("incas", "Inca land", 7)
    assert "gone" not in {each.entity.id for each in unsure}
    assert graph.requests == ["find_entity_candidates", "read_search_names"]


def test_every_topic_of_a_question_has_its_span_and_a_type_word_comes_last() -> None:
    found = FullTextLinker(type_words={"film"}).rank("Which film has Adolf Hitler and John F. Kennedy in it?", PEOPLE)
    assert [each.mention for each in found] == ["John F. Kennedy", "Adolf Hitler", "film"]


def test_a_question_is_asked_for_whole_by_its_words_and_by_its_neighbouring_words() -> None:
    whole, *others = write_full_text_queries("who led France's 2 armies and the fleet in Waterloo", 100, 10)
    assert whole == NameQuery(
        '"led"^2 "france"^2 "france\'s"^2 "2"^2 "ii"^2 "armies"^2 "fleet"^2 "waterloo"^2 "who led"^3 "led france"^3 '
        '"led france\'s"^3 "france 2"^3 "france\'s 2"^3 "france ii"^3 "2 armies"^3 "ii armies"^3 "armies and"^3 '
        '"the fleet"^3 "fleet in"^3 "in waterloo"^3 france~1 armies~1 fleet~1 waterloo~2',
        100,
    )
    alone = ['"led"', '"france" "france\'s"', '"2" "ii"', '"armies"', '"fleet"', '"waterloo"']
    assert others == [NameQuery(text, 10, 200) for text in (*alone, '"led france"', '"france 2"', '"2 armies"')]


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
