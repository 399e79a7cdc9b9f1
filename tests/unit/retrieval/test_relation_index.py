"""The relation index: the nearest relations by their words and phrases, whose vectors are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import lodestar.engine.relations as relations_module
import numpy as np
import numpy.typing as npt
import pytest
from lodestar.engine.neo4j.catalogue import Phrase, RelationInfo
from lodestar.engine.relations import RelationIndex
from lodestar.models.text.vectors import TextVectors

from tests.fakes.letter_encoder import LetterEncoder

NAMES = ("location.country.capital", "location.country.currency_used", "people.person.place_of_birth")
RELATIONS = [RelationInfo(i, name, name, 7) for i, name in enumerate(NAMES, start=1)]
ASKED = "which money do people pay with"
SAID = (Phrase(ASKED), Phrase("who spends", "llm", inverse=True))
DESCRIBED = [replace(r, phrases=SAID) if r.number == 2 else r for r in RELATIONS]


def test_a_relation_is_as_near_as_its_best_phrase() -> None:
    asked = LetterEncoder().encode([ASKED, "place of birth"])
    plain = RelationIndex(RELATIONS, TextVectors(LetterEncoder()))
    assert plain.search(asked, 3)[0][0].score < 0.999
    described = RelationIndex(DESCRIBED, TextVectors(LetterEncoder()))
    first, second = described.search(asked, 3)
    assert [first[0].value.number, round(first[0].score, 4)] == [2, 1.0]
    assert sorted(each.value.number for each in first) == [1, 2, 3]
    assert second[0].value.name == NAMES[2]
    assert described.nearest(asked, 1) == [frozenset({NAMES[1]}), frozenset({NAMES[2]})]
    assert (described.vectors() == plain.vectors()).all()


class Axes:
    """Vectors by hand: a text is as many parts of each axis as it has a, b and c."""

    dimension, weights_digest = 3, None

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        counts = np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32)
        counts = counts.reshape(-1, 3)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


@pytest.mark.parametrize("has_faiss", [True, False])
def test_the_nearest_by_hand(monkeypatch: pytest.MonkeyPatch, *, has_faiss: bool) -> None:
    """cos(a, aab) = 2/√5, cos(a, ab) = 1/√2, cos(a, abb) = 1/√5; aab and aaaabb are as near, the smaller number first."""
    if not has_faiss:
        monkeypatch.setattr(relations_module, "find_spec", lambda _: None)
    names = ("ab", "abb", "aaaabb", "aab", "c")
    relations = [RelationInfo(9 - place, name, name, 1) for place, name in enumerate(names)]
    axes: Any = Axes()
    index = RelationIndex(relations, TextVectors(axes))
    (found,) = index.search(axes.encode(["a"]), 4)
    assert [each.value.name for each in found] == ["aab", "aaaabb", "ab", "abb"]
    assert [each.score for each in found] == pytest.approx([2 / 5**0.5, 2 / 5**0.5, 0.5**0.5, 0.2**0.5])
    assert index.num_searches == 1
    assert index.search(axes.encode([]), 4) == [] and index.search(axes.encode(["a"]), 0) == [[]]


def test_a_shortlist_are_the_nearest_of_many_in_either_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations_module, "SHORTLIST", 2)
    axes: Any = Axes()
    relations = [RelationInfo(n, name, name, 1) for n, name in enumerate(("aab", "ab", "abb", "a"), start=1)]
    index = RelationIndex(relations, TextVectors(axes))
    assert index.shortlist(axes.encode(["a"])[0], {1, -1, 2, -2, -3}) == {1, -1, 2, -2}
