"""Questions in plain English out of relation words: forms, phrases, whole paths."""

from __future__ import annotations

import random
import re

import pytest
from lodestar.models.wording.english import base_of, is_held_out, plural, property_of, read_lexicon, singular
from lodestar.models.wording.phrases import AskedHop, phrases_of
from lodestar.models.wording.questions import joint_question, question_of

TEXTS = (
    "directed by", "place of birth", "has genre", "in language", "located in", "works at", "capital of", "contains",
    "wrote", "P31", "http://example.org/born", "出生地", "hired on", "spouse", "reports to", "adjoin s", "42",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("directed by", "by"), ("place of birth", "noun"), ("has genre", "noun"), ("located in", "participle"),
        ("works at", "verb"), ("capital of", "of"), ("contains", "verb"), ("42", "name"), ("出生地", "name"),
        ("http://example.org/born", "name"), ("parents", "noun"), ("need", "noun"), ("", "name"),
    ],
)  # fmt: skip
def test_shapes(text: str, shape: str) -> None:
    assert property_of(text).shape == shape


def test_a_noun_is_what_a_thing_has() -> None:
    assert [property_of(text).noun for text in ("has genre", "in language", "place_of_birth")] == [
        "genre", "language", "place of birth",
    ]  # fmt: skip
    assert property_of("has").words == "has"
    directed = property_of("directed by")
    assert (directed.verb, directed.base, directed.agent) == ("directed", "direct", "director")
    assert property_of("written by").verb == "wrote"


@pytest.mark.parametrize(
    ("one", "many"),
    [("country", "countries"), ("city", "cities"), ("boss", "bosses"), ("child", "children"), ("person", "people"),
     ("place of birth", "places of birth"), ("film", "films"), ("key", "keys"), ("films", "films"),
     ("movie", "movies"), ("species", "species")],
)  # fmt: skip
def test_plural(one: str, many: str) -> None:
    assert plural(one) == many
    if one != "films" and " " not in one:
        assert singular(many) == one


@pytest.mark.parametrize(
    ("verb", "base"),
    [("directed", "direct"), ("produced", "produce"), ("married", "marry"), ("written", "write"), ("works", "work")],
)
def test_base(verb: str, base: str) -> None:
    assert base_of(verb) == base


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("reached", [(), ("film", "movie")])
def test_every_phrase_has_its_topic_and_nothing_left_open(text: str, inverse: bool, reached: tuple[str, ...]) -> None:
    for properties in ((text,), ("membership", text)):
        phrases = phrases_of(AskedHop(properties, inverse, reached))
        assert phrases.own[0] and phrases.own[1]
        for form in (*phrases.nouns, *phrases.asks):
            assert form.count("{x}") == 1, form
            assert "{" not in form.replace("{x}", ""), form


@pytest.mark.parametrize(
    ("text", "inverse", "kind"),
    [("directed by", False, "person"), ("place of birth", False, "place"), ("release date", False, "time"),
     ("population", False, "number"), ("directed by", True, "thing"), ("musicians", False, "person"),
     ("located in", False, "place"), ("hired on", False, "time"), ("connected to", False, "thing")],
)  # fmt: skip
def test_kinds(text: str, inverse: bool, kind: str) -> None:
    assert phrases_of(AskedHop((text,), inverse)).kind == kind


def test_what_stands_in_or_on_something_is_asked_for_so() -> None:
    asked = "in what language is {x}"
    assert asked in phrases_of(AskedHop(("in language",), False)).asks
    assert asked not in phrases_of(AskedHop(("with language",), False)).asks


def test_the_type_that_is_reached_tells_the_kind() -> None:
    assert phrases_of(AskedHop(("profession",), True, ("person",))).kind == "person"


@pytest.mark.parametrize("text", TEXTS)
def test_a_question_names_its_topic_whole(text: str) -> None:
    for seed in range(30):
        path = [AskedHop((text,), seed % 2 == 0), AskedHop(("genre",), False)][: 1 + seed % 2]
        asked = question_of(path, "Ada Lovelace", random.Random(seed))
        assert "ada lovelace" in asked.lower()
        assert asked == question_of(path, "Ada Lovelace", random.Random(seed))


def test_a_third_of_questions_are_typed_in_small_letters() -> None:
    asked = [question_of([AskedHop(("has genre",), False)], "Alien", random.Random(seed)) for seed in range(100)]
    assert 20 <= sum(text == text.lower() for text in asked) <= 50


def test_there_and_back_is_the_same() -> None:
    path = [AskedHop(("has genre",), False), AskedHop(("has genre",), True, ("film",))]
    said = {question_of(path, "Alien", random.Random(seed)).lower() for seed in range(40)}
    assert any("same genre as alien" in text for text in said)


def test_two_topics() -> None:
    paths = ([AskedHop(("directed by",), True, ("film",))], [AskedHop(("starring",), True, ("film",))])
    for seed in range(20):
        text = joint_question(paths, ("Jane Doe", "Bob Fox"), random.Random(seed)).lower()
        assert "jane doe" in text
        assert "bob fox" in text


def test_the_lexicon_is_whole() -> None:
    lexicon = read_lexicon()
    assert lexicon.entry("imdb rating").nouns[0] == "rating"
    assert lexicon.kind("cause of death") == "thing"
    for entry in lexicon.relations.values():
        for form in (*entry.asks, *entry.inverse, *entry.back):
            assert "{x}" in form, form


def test_what_people_say_becomes_questions_and_noun_phrases() -> None:
    said = ("who looks after", "what can somebody do", "when did they join", "good at", "boss", "a {b}", "their office")
    phrases = phrases_of(AskedHop(("qq7",), False, said=said))
    others = (*phrases.nouns[phrases.own[0] :], *phrases.asks[phrases.own[1] :])
    assert {"who looks after {x}", "what can {x} do", "when did {x} join", "{x} good at", "the boss of {x}"} <= {
        *others
    }
    for form in others:
        assert form.count("{x}") == 1, form
        assert "{" not in form.replace("{x}", ""), form
    asked = {
        question_of([AskedHop(("qq7",), False, said=said)], "Ann", random.Random(seed)).lower() for seed in range(60)
    }
    assert any("who looks after ann" in text for text in asked)


def test_the_phrases_that_are_held_out_word_dev_questions_alone() -> None:
    said = tuple(f"word{number}" for number in range(40))
    out = {phrase for phrase in said if is_held_out(phrase)}
    assert 4 <= len(out) <= 20
    for held_out in (True, False):
        for inverse in (True, False):
            hop = AskedHop(("qq7",), inverse, said=said, held_out=held_out)
            texts = " ".join(question_of([hop], "Alien", random.Random(seed)).lower() for seed in range(300))
            used = set(re.findall(r"word\d+", texts))
            assert used
            assert used <= out if held_out else not used & out
    everything = phrases_of(AskedHop(("birthplace",), False))
    parts = [phrases_of(AskedHop(("birthplace",), False, held_out=held_out)) for held_out in (True, False)]
    own = everything.own[1]
    assert sorted(everything.asks[own:]) == sorted([*parts[0].asks[own:], *parts[1].asks[own:]])
    assert parts[0].others
    assert not parts[1].others
