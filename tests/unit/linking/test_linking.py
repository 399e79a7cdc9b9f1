from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.indexes.entity_index import NearEntity, NearestEntitySearch
from lodestar.engine.linking.full_text import FullTextLinker, make_candidate, write_full_text_queries
from lodestar.engine.linking.names import (
    MAX_CHARS,
    MAX_WORDS,
    MENTION_FEATURES,
    MENTION_WEIGHTS,
    FormKind,
    Mention,
    QuestionWords,
    compute_features,
    compute_probabilities,
    derive_forms,
    find_mention,
    tokenise,
)
from lodestar.engine.linking.reranking import LogisticReranker, RelationFeatureExtractor
from lodestar.engine.linking.topics import find_nearest_names, resolve_names
from lodestar.engine.neo4j.graph import NamedEntity, NameQuery
from lodestar.engine.neo4j.templates import Row
from lodestar.engine.values import Entity, Question, Topic

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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("who plays in Them ?", ["them"]),
        ("Who is the singer of The Who?", ["who"]),
        ("who told them?", []),
        ("WHO TOLD THEM?", []),
        ("What Did Them Say To Them?", []),
        ("Who Told Them tales?", []),
        ("who plays in It ?", ["it"]),
        ("which films did I like", []),
        ("I like films. Who is in it? Them!", []),
    ],
)
def test_a_function_word_with_a_capital_within_a_sentence_may_be_a_name(text: str, found: list[str]) -> None:
    pool = [named(name.split()[-1].lower(), name) for name in ("Them", "The Who", "What", "It", "I")]
    assert [each.entity.id for each in FullTextLinker().rank(text, pool)] == found


def test_a_name_of_signs_and_brackets_alone_has_no_shorter_form() -> None:
    forms = [form.kind for _, form in derive_forms(["? (film)", "Film"], ())]
    assert forms == ["whole", "whole"]
    assert FullTextLinker().rank("which film is it", [named("a", "? (film)")])[0].entity.id == "a"


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


class AskedGraph(PoolGraph):
    """Keeps what was asked for last, and how many entities."""

    asked: list[tuple[str, int]]

    def _find_entity_candidates(self, params: Mapping[str, Any], names: Mapping[str, str]) -> list[Row]:
        self.asked = [(query["text"], query["limit"]) for query in params["queries"]]
        return super()._find_entity_candidates(params, names)


class NamedGraph(PoolGraph):
    """Has the names of one entity more, which no word finds."""

    def _read_search_names(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        known = {"peru": ("Peru", 300), "land": ("Inca land", 7)}
        return [(id_, known[id_][0], [known[id_][0]], known[id_][1]) for id_ in params["ids"] if id_ in known]


def test_candidates_of_one_probability_are_sorted_by_id_and_there_are_ten_at_most() -> None:
    ids = [f"a{n:02}" for n in range(12)]
    pool = [named("z", "Peru", degree=9), *(named(id_, "Peru", degree=5) for id_ in reversed(ids))]
    assert [each.entity.id for each in FullTextLinker().rank("Where is Peru?", pool)] == ["z", *ids[:9]]
    assert [each.entity.id for each in FullTextLinker(top_k=3).rank("Where is Peru?", pool)] == ["z", *ids[:2]]


def test_twenty_candidates_are_weighed_by_their_relations_and_the_best_ten_kept_those_of_one_score_by_id() -> None:
    class AllButOne(LogisticReranker):
        def compute_probabilities(
            self, found: Sequence[Topic], relations: npt.NDArray[np.float64]
        ) -> npt.NDArray[np.float64]:
            assert found, "a network has no answer about no candidates"
            both = zip(found, relations, strict=True)
            return np.array([0.25 if topic.entity.id == "a03" else 0.5 for topic, _ in both])

    evidence = SimpleNamespace(
        leave_out_asked_type=lambda _, some: [topic for topic in some if topic.entity.id != "a00"],
        features=lambda texts, found: [np.zeros((len(some), 1)) for _, some in zip(texts, found, strict=True)],
        kind=lambda topic: f"kind of {topic.entity.id}",
    )
    linker = FullTextLinker(evidence=cast(RelationFeatureExtractor, evidence), reranker=AllButOne())
    ids = [f"a{n:02}" for n in range(22)]
    found = linker.rank("Where is Peru?", [named(id_, "Peru") for id_ in ids])
    assert [each.entity.id for each in found] == ids[:20]
    questions = [Question("Where is Peru?"), Question("Where?")]
    kept, nothing = linker.rerank(questions, [found[::-1], ()])
    assert [each.entity.id for each in kept] == ["a01", "a02", *ids[4:12]]
    assert (kept[0].score, kept[0].probability, kept[0].kind) == (0.5, 0.5, "kind of a01")
    assert nothing == []
    few, _ = linker.rerank(questions, [found[:4], ()])
    assert [(each.entity.id, each.score) for each in few] == [("a01", 0.5), ("a02", 0.5), ("a03", 0.25)]


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


def test_of_the_names_nearest_to_a_question_three_are_offered_the_best_known_first() -> None:
    known = {"less": 1, "b": 5, "a": 5, "most": 9}
    graph = PoolGraph(
        *(named(id_, "Zurich", degree=degree) for id_, degree in known.items()), named("far", "Montevideo", degree=99)
    )
    (found,) = graph.run(find_nearest_names(["Where is Zurihc?"]))
    assert [entity.id for entity in found] == ["most", "a", "b"]
    graph = PoolGraph(named("namesake", "Zürihc", degree=1), *graph.pool)
    (found,) = graph.run(find_nearest_names(["Where is Zurihc?"]))
    assert [entity.id for entity in found] == ["namesake", "most", "a"]


def test_names_near_a_question_are_looked_for_by_words_of_three_letters_and_their_beginnings() -> None:
    """Of 40 words the first 32; a function word and one of two letters are none of them."""

    graph = AskedGraph(named("a", "Rio Branco"))
    graph.run(find_nearest_names(["where is ab Rio Branco?"]))
    assert graph.asked == [("rio~2 rio*^0.5 branco~2 bran*^0.5", 50)]
    graph.run(find_nearest_names([" ".join(f"a{n}b" for n in range(10, 50)), "it"]))
    assert [text.count("~") for text, _ in graph.asked] == [32, 0]


@pytest.mark.parametrize(
    ("words", "name", "offered"),
    [
        ("limabc", "Limxyz", True),
        ("limas", "Lixyz", False),
        ("montevideo limabc", "Limxyz", True),
        ("newyrok", "New York", True),
        ("northumberland york", "New York", False),
    ],
)
def test_a_name_is_offered_that_agrees_in_half_of_its_letters_with_as_many_words(
    words: str, name: str, offered: bool
) -> None:
    (found,) = PoolGraph(named("a", name)).run(find_nearest_names([f"where is {words}"]))
    assert bool(found) is offered


def test_a_name_in_place_of_an_id_is_of_the_best_known_entity_that_is_called_so() -> None:
    graph = PoolGraph(
        named("less", "Lima", degree=2),
        named("b", "Ciudad de los Reyes", "LIMA", degree=9),
        named("a", "Líma", degree=9),
        named("longer", "Lima Duarte", degree=99),
    )
    found = graph.run(resolve_names(["lima", "nobody"]))
    assert {name: entity.id for name, entity in found.items()} == {"lima": "a"}


def test_a_name_in_place_of_an_id_is_looked_for_as_a_phrase_without_its_signs() -> None:
    graph = AskedGraph(named("a", "Lima"))
    graph.run(resolve_names(["Lima's U.S. (city)", "?"]))
    assert graph.asked == [('"Lima US city"', 1_000), ('"\u200b"', 1_000)]


def test_words_that_a_point_or_colon_joins_are_asked_for_as_one() -> None:
    queries = write_full_text_queries("is will.i.am on Wave:CD 's cover? U.S. too.", 100, 10)
    assert [query.text for query in queries[1:3]] == ['"will.i.am"', '"wave:cd"']
    assert queries[0].text.startswith('"will.i.am"^3 "wave:cd"^3 ')


def test_us_is_a_pronoun_elsewhere() -> None:
    assert FullTextLinker().rank("Who told us this?", PEOPLE) == ()


def test_every_topic_of_a_question_has_its_span_and_a_type_word_comes_last() -> None:
    found = FullTextLinker(type_words={"film"}).rank("Which film has Adolf Hitler and John F. Kennedy in it?", PEOPLE)
    assert [each.mention for each in found] == ["John F. Kennedy", "Adolf Hitler", "film"]


def test_a_small_adjective_names_no_place_in_a_question_with_capitals() -> None:
    assert [each.entity.id for each in FullTextLinker().rank("Who is a french singer of Peru?", PEOPLE + POOL)] == [
        "peru",
        "peru-in",
    ]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("which French singer", "France", ("adjective", 1, 2)),
        ("which French singer", "France (country)", ("adjective", 1, 2)),
        ("which French singer", "Vichy France", ("adjective", 1, 2)),
        ("which French singer", "France of old", None),
        ("is French wine from France", "France", ("whole", 4, 5)),
        ("is Framce known for French wine", "France", ("adjective", 4, 5)),
    ],
)
def test_an_adjective_is_one_word_without_a_typo_for_a_place_of_one_word(
    text: str, name: str, expected: tuple[FormKind, int, int] | None
) -> None:
    place = named("a", name)
    assert find_mention(QuestionWords(text), place, 0.8) == (expected and Mention(place, name, *expected, 1.0))


def test_without_relations_candidates_stay_as_they_were_found() -> None:
    linker = FullTextLinker()
    found = linker.rank("Where is Peru?", POOL)
    assert linker.rerank([Question("Where is Peru?"), Question("Where?")], [found, ()]) == [list(found), []]


def test_a_candidate_has_the_features_of_its_mention() -> None:
    (found,) = FullTextLinker().rank("where is Peru", [named("a", "Peru", degree=99)])
    assert dict(zip(MENTION_FEATURES, found.features, strict=True)) == {
        **dict.fromkeys(MENTION_FEATURES, 0.0),
        "1": 1.0,
        "share of the name's words": 1.0,
        "words of content, 1 − 2^−n": 0.5,
        "capitalised in the question": 1.0,
        "degree, log₁₀ / 5": pytest.approx(0.4),
    }


def test_a_candidate_whose_probability_nobody_knows_scores_nothing() -> None:
    words = QuestionWords("where is Peru")
    mention = find_mention(words, POOL[2], 0.8)
    assert mention is not None
    candidate = make_candidate(words, mention)
    assert (candidate.entity.id, candidate.score, candidate.probability) == ("peru", 0.0, None)


def test_a_candidate_has_its_span() -> None:
    question = "What is the capital of São_Paulo's neighbour?"
    (best, *_) = FullTextLinker().rank(question, POOL)
    assert best.span is not None
    first, after = best.span
    assert question[first:after] == best.mention == "São_Paulo"


def test_of_very_long_names_and_questions_the_beginnings_are_compared() -> None:
    words = " ".join(f"word{n}" for n in range(1_200))
    name = f"{words}, {words}"
    assert sum(len(form.words) for _, form in derive_forms([name], ())) < MAX_CHARS**2 / 10
    assert len(QuestionWords(words).tokens) == MAX_WORDS
    found = FullTextLinker().rank(f"{words} zebra", [named("long", name), named("late", "zebra")])
    assert [each.entity.id for each in found] == ["long"]


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


@pytest.mark.parametrize(
    ("text", "typos"),
    [("who led Peru", []), ("who led Chile", ["chile~1"]), ("Bolivia", ["bolivia~1"]), ("Honduras", ["honduras~2"])],
)
def test_a_longer_word_may_have_more_typos(text: str, typos: list[str]) -> None:
    assert [part for part in write_full_text_queries(text, 100, 10)[0].text.split(" ") if "~" in part] == typos


@pytest.mark.parametrize(
    ("word", "other"), [("4", "iv"), ("iv", "4"), ("x", ""), ("xbox2", "xboxi"), ("b2", ""), ("oxboxes2", "")]
)
def test_a_number_is_asked_for_in_its_other_spelling_too(word: str, other: str) -> None:
    (_, query, *_) = write_full_text_queries(f"of {word}", 100, 10)
    assert query.text == (f'"{word}" "{other}"' if other else f'"{word}"')


def test_characters_of_a_script_without_spaces_are_asked_for_in_pairs_alone() -> None:
    queries = write_full_text_queries("東京 Tower", 100, 10)
    assert [query.text for query in queries[1:]] == ['"tower"', '"東 京"', '"京 tower"']
    assert write_full_text_queries("東.京 Tower", 100, 10) == queries


def test_a_query_has_bounded_clauses_and_there_are_boundedly_many() -> None:
    """Of the first 256 words: 128 pairs that a full stop joins, each word, and 16 pairs of neighbours are asked for at
    once, 24 of each alone."""
    words = [f"p{n}q" for n in range(300)]
    queries = write_full_text_queries(" ".join(".".join(words[at : at + 2]) for at in range(0, 300, 2)), 100, 10)
    assert queries[0].text.count('"^') == 400
    assert len(queries) == 1 + 3 * 24
    assert (queries[24].text, queries[48].text, queries[72].text) == ('"p46q.p47q"', '"p23q"', '"p23q p24q"')


@pytest.mark.parametrize(
    "text", ["العربية من هو رئيس مصر", "🎬👩‍👩‍👧 film", "WHO IS PRESIDENT OF PERU", "who is president of peru"]
)
def test_scripts_emoji_and_case_are_only_text(text: str) -> None:
    found = linked(text)
    assert found[:1] == (["peru"] if "peru" in text.lower() else [])


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


def test_a_form_without_a_typo_is_better_than_a_whole_name_with_one() -> None:
    found = features_of("who knows voltaire", named("last", "Monsieur Voltaire"), named("typo", "Voltairs"))
    better = "same words, better form elsewhere"
    assert {id_: features.get(better, 0) for id_, features in found.items()} == {"last": 0, "typo": 1}


def test_a_mention_within_a_longer_one_that_is_no_whole_name() -> None:
    found = features_of("in the west sea", named("sea", "Sea"), named("west", "West Sea (film)"))
    assert found["sea"]["within another longer mention"] == 1
    assert "within a longer whole name" not in found["sea"]
    assert "within another longer mention" not in found["west"]
    found = features_of("a west sea coast", named("west", "West Sea"), named("coast", "Sea Coast"))
    assert not any(name.startswith("within") for features in found.values() for name in features)


@pytest.mark.parametrize(
    ("text", "name", "features"),
    [
        ("Who ruled the empire in Rome?", "Empire", {"a capitalised name in small letters"}),
        ("Who ruled the empire in Rome?", "empire", set[str]()),
        ("who ruled the empire in rome", "Empire", set[str]()),
        ("Who drove in le Mans?", "Le Mans", {"capitalised in the question"}),
        ("Who drove in Le mans?", "Le Mans", {"capitalised in the question", "a capitalised name in small letters"}),
        ("Empire of Rome", "Empire", set[str]()),
        ("which films are there", "Films", {"a word for a type, in small letters"}),
        ("which short films are there", "Short Films", set[str]()),
        ("Which Films are there", "Films", {"capitalised in the question"}),
    ],
)
def test_capitals_of_names_and_questions(text: str, name: str, features: set[str]) -> None:
    (found,) = features_of(text, named("a", name), type_words={"film"}).values()
    looked_at = {name for name in MENTION_FEATURES if "capitalised" in name or "small" in name}
    assert found.keys() & looked_at == features


def test_a_name_with_function_words_may_have_typos() -> None:
    rings = named("rings", "Lord of the Rings")
    (found,) = FullTextLinker().rank("who wrote Lord of the Rigns?", [rings])
    assert found.mention == "Lord of the Rigns"


@pytest.mark.parametrize(
    ("text", "name", "is_found"),
    [
        ("where is perv", "Peru", True),
        ("where is per", "Peru", False),
        ("where is peru", "Per", False),
        (f"where is {'x' * 99}y", "x" * 100, True),
        (f"where is {'x' * 99}y", "x" * 101, False),
    ],
)
def test_words_and_names_of_four_to_a_hundred_characters_may_have_typos(text: str, name: str, is_found: bool) -> None:
    assert (find_mention(QuestionWords(text), named("a", name), 0.7) is not None) is is_found


@pytest.mark.parametrize(
    ("text", "names", "mention"),
    [
        ("is Lima in Limma Ctiy", ["Limma City", "Lima"], "Lima"),
        ("films by David Kieth Lynch", ["David Keith Lynch"], "David Kieth Lynch"),
    ],
)
def test_typos_are_looked_for_where_no_name_stands_as_a_whole(text: str, names: list[str], mention: str) -> None:
    words = QuestionWords(text)
    found = find_mention(words, named("a", *names), 0.7)
    assert found is not None
    assert " ".join(token.text for token in words.tokens[found.start : found.end]) == mention


def test_the_first_of_mentions_that_are_alike_is_taken() -> None:
    mention = find_mention(QuestionWords("is Lima near Lima or Rome"), named("a", "Rome", "Lima"), 0.8)
    assert mention is not None
    assert (mention.name, mention.start, mention.end) == ("Lima", 1, 2)


def likelihood(text: str, id_: str, *pool: NamedEntity, type_words: Collection[str] = ()) -> float:
    found = {each.entity.id: each.probability for each in FullTextLinker(type_words=set(type_words)).rank(text, pool)}
    return found[id_] or 0.0


def test_what_makes_a_mention_likelier() -> None:
    peru, small = named("peru", "Peru", degree=300), named("peru", "Peru", degree=3)
    nice, zurich, film = named("nice", "Nice"), named("zurich", "Zürich"), named("film", "Film")
    united, states = named("utd", "United"), named("us", "United States")
    assert likelihood("Where is Peru?", "peru", peru) > likelihood("Where is Peru?", "peru", small), "its degree"
    assert likelihood("Where is Peru?", "peru", small) > likelihood(
        "Where is Peru?", "peru", small, named("other", "Peru", degree=900)
    ), "nothing else of its name that is larger"
    assert likelihood("Where is Zürich?", "zurich", zurich) > likelihood("Where is Züirch?", "zurich", zurich), (
        "no typo"
    )
    assert likelihood("Who lives in Nice?", "nice", nice) > likelihood("Who lives in nice houses?", "nice", nice), (
        "its capitals"
    )
    assert likelihood("which film is it", "film", film) > likelihood(
        "which film is it", "film", film, type_words={"film"}
    ), "no word for a type"
    assert likelihood("the United States", "utd", united) > likelihood("the United States", "utd", united, states), (
        "no longer mention around it"
    )


def test_ambiguity_is_ranked_by_degree_and_both_are_shown() -> None:
    assert linked("capital of Peru")[:2] == ["peru", "peru-in"]


def test_function_words_are_no_mention() -> None:
    assert linked("What of it?") == []


def test_the_mention_is_cut_from_the_question_as_written() -> None:
    (best, *_) = FullTextLinker().rank("What is PERU's capital?", POOL)
    assert best.mention == "PERU"


def test_a_question_of_function_words_searches_for_nothing_that_exists() -> None:
    assert write_full_text_queries("what is it?", 100, 10) == [NameQuery('"\u200b"', 100)]


@given(st.text(max_size=80))
def test_no_text_is_lucene_syntax(text: str) -> None:
    for query in write_full_text_queries(text, 100, 10):
        for part in re.split(r' (?=(?:[^"]*"[^"]*")*[^"]*$)', query.text):
            assert re.fullmatch(r'"[\w\u200b \'.:·’]+"(\^\d)?|\w+~\d', part), part


@given(st.text(max_size=80))
def test_tokens_stand_where_they_say(text: str) -> None:
    for token in tokenise(text):
        assert text.replace("_", " ")[token.start : token.end] == token.text
