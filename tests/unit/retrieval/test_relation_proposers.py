"""What every `RelationProposer` keeps to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from lodestar.engine.retrieval.scoring import PathQuery, SimilarityScorer
from lodestar.engine.retrieval.subgraph.walking import (
    FloatArray,
    RelationProposer,
    RelationQuery,
    SimilarityProposer,
    best_relations,
)
from lodestar.engine.values import Entity, RelationPath, RelationStep, Topic
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors, VectorStore
from lodestar.models.text.verbalise import RelationWords

from tests.fakes.number_proposer import NumberProposer
from tests.fakes.word_encoder import WordEncoder

NAMES = {1: "capital", 2: "currency_used", 3: "adjoin_s"}
WORDS = {
    1: RelationWords("country", ("capital",)),
    2: RelationWords("country", ("currency used",)),
    3: RelationWords("", ("borders",)),
}
SIGNED = np.array([-3, -2, -1, 1, 2, 3], dtype=np.int64)
QUERIES = [
    RelationQuery("What is the capital of Peru?", ("Peru",), SIGNED),
    RelationQuery("What money do they use in Santiago de Chile?", ("Santiago_de_Chile",), SIGNED[3:]),
    RelationQuery("Which countries border it?", (), SIGNED[:0]),
]


@cache
def vectors() -> TextVectors:
    return TextVectors(SentenceEncoder("all-MiniLM-L6-v2"))


PROPOSERS: dict[str, Callable[[], RelationProposer]] = {
    "NumberProposer": NumberProposer,
    "SimilarityProposer": lambda: SimilarityProposer(WORDS, vectors()),
}


@pytest.mark.parametrize("name", PROPOSERS)
def test_each_candidate_has_a_score_whatever_it_is_asked_with(name: str) -> None:
    proposer = PROPOSERS[name]()
    scores = proposer.score(QUERIES)
    assert [len(s) for s in scores] == [len(query.relations) for query in QUERIES]
    for query, together in zip(QUERIES, scores, strict=True):
        assert together.dtype == np.float32
        assert np.isfinite(together).all()
        (alone,) = proposer.score([query])
        np.testing.assert_allclose(alone, together, atol=1e-5)
        backwards = RelationQuery(query.question, query.topics, query.relations[::-1])
        np.testing.assert_allclose(proposer.score([backwards])[0][::-1], together, atol=1e-5)
    assert proposer.score([]) == []


def test_similarity_is_what_the_path_scorer_gives_a_path_of_one_hop() -> None:
    words = {NAMES[number]: of for number, of in WORDS.items()}
    scorer = SimilarityScorer(words, vectors().encoder, vectors=vectors())
    for query in QUERIES[:2]:
        topic = Topic(Entity("t", query.topics[0]))
        paths = tuple(RelationPath((RelationStep(NAMES[abs(n)], n < 0),)) for n in query.relations.tolist())
        asked = PathQuery(query.question, (topic,) * len(paths), paths, (0.0,) * len(paths))
        (expected,) = scorer.score([asked])
        (scores,) = SimilarityProposer(WORDS, vectors()).score([query])
        np.testing.assert_allclose(scores, expected.extend, atol=1e-5)


def test_what_is_asked_for_comes_first() -> None:
    first, second, _ = SimilarityProposer(WORDS, vectors()).score(QUERIES)
    assert SIGNED[np.argmax(first)] == 1
    assert SIGNED[3:][np.argmax(second)] == 2


def test_equal_scores_come_by_number_leaving_before_entering() -> None:
    assert best_relations(SIGNED, np.zeros(6, dtype=np.float32), 4).tolist() == [1, -1, 2, -2]
    assert best_relations(SIGNED, np.arange(6, dtype=np.float32), 2).tolist() == [3, 2]
    assert best_relations(SIGNED, np.arange(6, dtype=np.float32), 9).tolist() == [3, 2, 1, -1, -2, -3]


class Batches(WordEncoder):
    """Keeps which texts were encoded together; the words of a text are its tokens. And a store that keeps nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []
        self.stored: list[str] = []

    def encode(self, texts: Sequence[str]) -> FloatArray:
        self.batches.append(list(texts))
        return super().encode(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[Any]:
        self.batches.append(list(texts))
        words = super().encode
        return [(words([text])[0], words(text.split())) for text in texts]

    def get(self, _texts: Sequence[str], _dimension: int) -> dict[str, Any]:
        return {}

    def put(self, entries: Mapping[str, Any]) -> None:
        self.stored += entries


def test_texts_are_encoded_together_those_of_relations_once_and_for_good() -> None:
    encoder = Batches()
    proposer = SimilarityProposer(WORDS, TextVectors(encoder, store=cast(VectorStore, encoder)))
    proposer.score(QUERIES)
    _, of_relations, of_ends, questions, asked_for = encoder.batches  # the first is for the dimension
    assert encoder.stored == of_relations + of_ends
    assert set(of_relations) == {
        "country capital",
        "capital country",
        "country currency used",
        "currency used country",
        "borders",
    }
    assert set(of_ends) == {"country", "capital", "currency used"}
    assert questions == ["What is the capital of ?", "What money do they use in ?", "Which countries border it?"]
    assert asked_for == ["countries border", "money they"]
    encoder.batches.clear()
    proposer.score([RelationQuery("Where is the mayor of Lima?", ("Lima",), SIGNED)])
    assert encoder.batches == [["Where is the mayor of ?"], ["location"]]
