"""English words: plurals, base forms, the lexicon."""

from __future__ import annotations

import pytest
from lodestar.models.wording import base_of, is_verb, plural, singular


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


@pytest.mark.parametrize("word", ["pass", "bus", "basis", "famous", "news", "tie"])
def test_what_only_looks_like_a_plural_stays(word: str) -> None:
    assert singular(word) == word


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("works", True), ("went", True), ("born", True), ("used", True), ("work", False), ("bed", False), ("need", False)],
)
def test_verbs_are_told_from_other_words(word: str, is_one: bool) -> None:
    assert is_verb(word) == is_one
