"""English words: plurals, base forms, the lexicon."""

from __future__ import annotations

import pytest
from lodestar.models.wording import make_question, pluralise, singularise


@pytest.mark.parametrize(
    ("one", "many"),
    [("country", "countries"), ("city", "cities"), ("boss", "bosses"), ("child", "children"), ("person", "people"),
     ("place of birth", "places of birth"), ("film", "films"), ("key", "keys"), ("films", "films"),
     ("movie", "movies"), ("species", "species")],
)  # fmt: skip
def test_plural(one: str, many: str) -> None:
    assert pluralise(one) == many
    if one != "films" and " " not in one:
        assert singularise(many) == one


@pytest.mark.parametrize("word", ["pass", "bus", "basis", "famous", "news", "tie"])
def test_what_only_looks_like_a_plural_stays(word: str) -> None:
    assert singularise(word) == word


@pytest.mark.parametrize(
    ("relation", "asked", "by_noun"),
    [
        ("capital", "What is the capital of Peru?", True),
        ("official languages", "What are the official languages of Peru?", True),
        ("has capital", "What is the capital of Peru?", True),
        ("directed", "What did Peru direct?", False),
        ("located in", "What is Peru located in?", False),
        ("languages spoken", "What is the languages spoken of Peru?", False),
    ],
)
def test_a_question_is_made_of_a_relations_words(relation: str, asked: str, by_noun: bool) -> None:
    assert make_question(relation, "Peru") == (asked, by_noun)
