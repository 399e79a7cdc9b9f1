"""What a candidate's second probability is made of: features by hand, and which way each of them counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from lodestar.engine.linking.entity_index import EntityTypes
from lodestar.engine.linking.reranking import (
    RELATION_FEATURES,
    RelationFeatureExtractor,
    compute_features,
    weigh_candidates,
)
from lodestar.engine.neo4j.catalogue import Catalogue
from lodestar.engine.values import Entity, Topic
from lodestar.models.text import RelationMeaning, RelationWords
from lodestar.models.text.vectors import TextVectors

NOTHING = np.zeros((1, len(RELATION_FEATURES)))


def topic(probability: float) -> Topic:
    return Topic(Entity("a", "A"), score=probability)


def test_features_by_hand() -> None:
    """1, ln p / (1 − p), then those of the relations; of p = 0.9 and 0.5: ln 9 and 0."""
    relations = np.arange(10.0).reshape(2, 5)
    found = compute_features([topic(0.9), topic(0.5)], relations)
    np.testing.assert_allclose(found, [[1.0, math.log(9), 0, 1, 2, 3, 4], [1.0, 0, 5, 6, 7, 8, 9]])
    assert np.isfinite(compute_features([topic(1.0)], NOTHING)).all()


DIRECTIONS = {"capital": (0.8, 0.6), "river": (0.6, 0.8)}


def direction(text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(DIRECTIONS.get(text, (1.0, 0.0)))


VECTORS = cast(
    TextVectors,
    SimpleNamespace(
        encode=lambda _: None,
        encode_tokens=lambda _: None,
        sentence=direction,
        tokens=lambda text: direction(text)[None],
    ),
)


@pytest.mark.parametrize(
    ("words", "number", "read", "reached"),
    [
        (RelationWords("", ("river",)), 1, 0.6, 0.6),
        (RelationWords("capital", ("river",)), -1, 1.0, 0.8),
        (RelationWords("", ("river",)), -1, 0.6, 0.25),
        (RelationWords("", ("river",), RelationMeaning(forward=("capital",))), 1, 0.8, 0.6),
    ],
)
def test_a_hop_is_read_in_the_phrase_that_fits_best_and_reaches_a_kind_or_nobody_knows_which(
    words: RelationWords, number: int, read: float, reached: float
) -> None:
    """The texts are held against (1, 0): "river" is .6 of it, "capital" .8, and "river capital" all of it."""
    kinds = cast(EntityTypes, SimpleNamespace(of=lambda *_: ()))
    some = [Topic(Entity("a", "a"), mention="Lima", span=(8, 12), relations=(number,))]
    (found,) = RelationFeatureExtractor({1: words}, kinds, VECTORS).features(["what is Lima"], [some])
    assert found[0, 0] == pytest.approx(read + 0.5 * read + 0.4 * reached)


@pytest.mark.parametrize(
    ("question", "mentions", "kept"),
    [
        ("Which persons directed a movie?", {"persons": (-1,), "movie": (-1,)}, ["movie"]),
        ("Which persons directed a movie?", {"persons": (-1, 2), "movie": (-1,)}, ["persons", "movie"]),
        ("Which persons directed a movie?", {"persons": (-2,), "movie": (-1,)}, ["persons", "movie"]),
        ("What kind of persons directed a movie?", {"persons": (-1,), "movie": (-1,)}, ["movie"]),
        ("Who are the persons of Heat?", {"persons": (-1,), "Heat": (2,)}, ["persons", "Heat"]),
        ("Which movies are there?", {"movies": (-1,)}, ["movies"]),
    ],
)
def test_the_type_that_is_asked_for_is_no_topic_beside_another(
    question: str, mentions: Mapping[str, tuple[int, ...]], kept: Sequence[str]
) -> None:
    words = {1: RelationWords("", ("type",)), 2: RelationWords("", ("directed",))}
    evidence = RelationFeatureExtractor(words, EntityTypes(Catalogue(())), cast(TextVectors, None))
    topics = [
        Topic(Entity(text), relations=relations, span=(at := question.index(text), at + len(text)))
        for text, relations in mentions.items()
    ]
    assert [topic.entity.id for topic in evidence.leave_out_asked_type(question, topics)] == kept


def test_the_second_probability_by_hand() -> None:
    """−.63 + .98 · 0 + 1.33 · .5 − 3.01 · .1 + .49 · .4 + .27 − .45 = −.25"""
    found = weigh_candidates([topic(0.5)], np.array([[0.5, -0.1, 0.4, 1.0, 1.0]]))
    assert found == pytest.approx([1 / (1 + math.exp(0.25))])
