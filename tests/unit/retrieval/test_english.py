"""English words: plurals, base forms, the lexicon."""

from __future__ import annotations

import pytest
from lodestar.models.wording.english import base_of, is_verb, list_common_relations, plural, read_lexicon, singular


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


def test_the_lexicon_is_whole() -> None:
    lexicon = read_lexicon()
    for text, noun in (
        ("imdb rating", "rating"),
        ("main head office", "headquarters"),
        ("adoptive legal father", "father"),
        ("Capitals", "capital"),
    ):
        assert lexicon.entry(text).nouns[0] == noun
    for entry in lexicon.relations.values():
        for form in (*entry.asks, *entry.inverse, *entry.back):
            assert "{x}" in form, form


def test_common_relations_are_those_of_the_lexicon_by_one_name_and_of_a_list() -> None:
    names = list_common_relations()
    assert ("spouse" in names, "married to" in names, "chief executive" in names) == (True, False, True)
    assert not any("#" in name for name in names)


@pytest.mark.parametrize(
    ("one", "many"),
    [("box", "boxes"), ("human", "humans"), ("day", "days"), ("journey", "journeys"), ("fly", "flies"), ("pass", "passes"), ("grandchild", "grandchildren"),
     ("son in law", "sons in law"), ("dish", "dishes"), ("spokesperson", "spokespeople")],
)  # fmt: skip
def test_rarer_plurals(one: str, many: str) -> None:
    assert plural(one) == many
    if " " not in one:
        assert singular(many) == one


@pytest.mark.parametrize("word", ["pass", "bus", "basis", "famous", "news", "tie"])
def test_what_only_looks_like_a_plural_stays(word: str) -> None:
    assert singular(word) == word


def test_a_short_word_in_ies_is_the_plural_of_one_in_ie() -> None:
    assert [singular(word) for word in ("ties", "flies")] == ["tie", "fly"]


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("works", True), ("went", True), ("born", True), ("used", True), ("work", False), ("bed", False), ("need", False)],
)
def test_verbs_are_told_from_other_words(word: str, is_one: bool) -> None:
    assert is_verb(word) == is_one


@pytest.mark.parametrize(
    ("verb", "base"),
    [("planned", "plan"), ("banned", "ban"), ("called", "call"), ("passed", "pass"), ("created", "create"), ("played", "play"),
     ("added", "add"), ("bordered", "border"), ("treated", "treat"), ("shared", "share"), ("contains", "contain"),
     ("died", "die"), ("tied", "tie"), ("tried", "try"), ("studied", "study")],
)  # fmt: skip
def test_base_forms_by_rule(verb: str, base: str) -> None:
    assert base_of(verb) == base
