"""Relations proposed by similarity: the score of a path of one hop, and the order of equal ones."""

from __future__ import annotations

from functools import cache

import numpy as np
from lodestar.engine.retrieval import PathQuery
from lodestar.engine.retrieval.similarity import SimilarityScorer
from lodestar.engine.retrieval.subgraph.walking import (
    RelationQuery,
    SimilarityProposer,
    best_relations,
)
from lodestar.engine.values import Entity, RelationPath, RelationStep, Topic
from lodestar.models.text import RelationWords
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors

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


def test_equal_scores_come_by_number_leaving_before_entering() -> None:
    assert best_relations(SIGNED, np.zeros(6, dtype=np.float32), 4).tolist() == [1, -1, 2, -2]
    assert best_relations(SIGNED, np.arange(6, dtype=np.float32), 2).tolist() == [3, 2]
    assert best_relations(SIGNED, np.arange(6, dtype=np.float32), 9).tolist() == [3, 2, 1, -1, -2, -3]
