"""The nearest relations by their words and phrases, whose vectors are kept, and those that similarity proposes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import faiss
import lodestar.engine.relations as relations_module
import numpy as np
import numpy.typing as npt
import pytest
from lodestar.engine.data_model import Entity, RelationPath, RelationStep, Topic
from lodestar.engine.neo4j.catalogue import RelationInfo, RelationPhrase
from lodestar.engine.relations import RelationIndex
from lodestar.engine.retrieval import PathQuery
from lodestar.engine.retrieval.similarity import SimilarityScorer
from lodestar.engine.retrieval.subgraphs import RelationQuery, SimilarityProposer
from lodestar.models.text import RelationWords
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors

from tests.fakes.letter_encoder import LetterEncoder

NAMES = ("location.country.capital", "location.country.currency_used", "people.person.place_of_birth")
RELATIONS = [RelationInfo(i, name, name, 7) for i, name in enumerate(NAMES, start=1)]
ASKED = "which money do people pay with"
SAID = (RelationPhrase(ASKED), RelationPhrase("who spends", "source", inverse=True))
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
    calls: list[str] = []
    monkeypatch.setattr(relations_module, "count_call", calls.append)
    if not has_faiss:
        monkeypatch.setattr(relations_module, "find_spec", lambda _: None)
    names = ("ab", "abb", "aaaabb", "aab", "c")
    relations = [RelationInfo(9 - place, name, name, 1) for place, name in enumerate(names)]
    axes: Any = Axes()
    index = RelationIndex(relations, TextVectors(axes))
    (found,) = index.search(axes.encode(["a"]), 4)
    assert [each.value.name for each in found] == ["aab", "aaaabb", "ab", "abb"]
    assert [each.score for each in found] == pytest.approx([2 / 5**0.5, 2 / 5**0.5, 0.5**0.5, 0.2**0.5])
    assert calls == ["searches"] * has_faiss
    assert index.search(axes.encode([]), 4) == [] and index.search(axes.encode(["a"]), 0) == [[]]


@pytest.mark.parametrize("how", ["", "cells", "few cells", "gpu", "cells gpu", "NumPy"])
def test_a_shortlist_are_the_nearest_of_many_in_either_direction(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A visited cell with less candidates than are wanted: these are searched one by one, as exactly and on a GPU."""
    rows, knn = [], faiss.knn

    def search(queries: Any, among: Any, top_k: int, metric: int) -> Any:
        rows.append(len(among))
        return knn(queries, among, top_k, metric)

    gpu = {"knn_gpu": lambda _, *given, metric: search(*given, metric), "index_cpu_to_all_gpus": lambda index: index}
    gpu |= {"StandardGpuResources": object, "get_num_gpus": lambda: 1, "knn": None if "gpu" in how else search}
    for name, fake in gpu.items():
        monkeypatch.setattr(faiss, name, fake, raising=False)
    monkeypatch.setattr(relations_module, "find_spec", lambda _: how != "NumPy" or None)
    monkeypatch.setattr(relations_module, "SHORTLIST", 2)
    monkeypatch.setattr(relations_module, "PROBED_SHARE", 8 if "few" in how else 1)
    axes: Any = Axes()
    names = ("aab", "ab", "abb", "a", *"bbc", *"c" * 57)
    relations = [RelationInfo(number, name, name, 1) for number, name in enumerate(names, start=1)]
    least = 0 if "cells" in how else 100
    index = RelationIndex(relations, TextVectors(axes), gpu="gpu" in how, approximate_from=least)
    assert index.shortlist(axes.encode(["a"])[0], {1, -1, 2, -2, -3, 5, 64}) == {1, -1, 2, -2}
    assert index.shortlist(axes.encode(["c"])[0], {1, -2}) == {1, -2}
    assert rows[-1:] == ([] if how in ("cells", "NumPy") else [2])


BY_NUMBER = {1: "capital", 2: "currency_used", 3: "adjoin_s"}
WORDS = {
    1: RelationWords("country", ("capital",)),
    2: RelationWords("country", ("currency used",)),
    3: RelationWords("", ("borders",)),
}
SIGNED = np.array([-3, -2, -1, 1, 2, 3], dtype=np.int64)
QUERIES = [
    RelationQuery("What is the capital of Peru?", ("Peru",), SIGNED),
    RelationQuery("What money do they use in Santiago de Chile?", ("Santiago_de_Chile",), SIGNED[3:]),
]


def test_similarity_is_what_the_path_scorer_gives_a_path_of_one_hop() -> None:
    words = {BY_NUMBER[number]: of for number, of in WORDS.items()}
    vectors = TextVectors(SentenceEncoder("all-MiniLM-L6-v2"))
    scorer = SimilarityScorer(words, vectors)
    for query in QUERIES:
        topic = Topic(Entity("t", query.topics[0]))
        paths = tuple(RelationPath((RelationStep(BY_NUMBER[abs(n)], n < 0),)) for n in query.relations.tolist())
        asked = PathQuery(query.question, (topic,) * len(paths), paths, (0.0,) * len(paths))
        (expected,) = scorer.score([asked])
        (scores,) = SimilarityProposer(WORDS, vectors).score([query])
        np.testing.assert_allclose(scores, expected.extend, atol=1e-5)
