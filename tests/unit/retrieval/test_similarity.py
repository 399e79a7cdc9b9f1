"""The formulas against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lodestar.models.similarity import (
    SimilarityWeights,
    compose_cosine,
    compute_support,
    find_asked_noun,
    find_asked_type,
    mask_topic,
    score_paths,
)
from lodestar.models.text.verbalise import (
    DirectedRelation,
    RelationWords,
    find_end_type,
    reverse_hop,
    verbalise_hop,
    verbalise_path,
)

BIRTH = RelationWords("person", ("place of birth",))
CAST = RelationWords("tv program", ("regular cast", "actor"))
ADJOIN = RelationWords("location", ("borders",))
ADJOINS = RelationWords("adjoining relationship", ("neighbouring country",))
BARE = RelationWords("", ("directed by",))


@pytest.mark.parametrize(
    ("hop", "text", "reached"),
    [
        ((DirectedRelation(BIRTH),), "person place of birth", "place of birth"),
        ((DirectedRelation(BIRTH, inverse=True),), "place of birth person", "person"),
        ((DirectedRelation(CAST),), "tv program regular cast actor", "actor"),
        ((DirectedRelation(CAST, inverse=True),), "regular cast actor tv program", "tv program"),
        ((DirectedRelation(BARE),), "directed by", "directed by"),
        ((DirectedRelation(BARE, inverse=True),), "directed by", ""),
        (
            (DirectedRelation(ADJOIN), DirectedRelation(ADJOINS)),
            "location borders neighbouring country",
            "neighbouring country",
        ),
        (
            (DirectedRelation(ADJOINS, inverse=True), DirectedRelation(ADJOIN, inverse=True)),
            "borders neighbouring country location",
            "location",
        ),
    ],
)
def test_hops_in_words(hop: tuple[DirectedRelation, ...], text: str, reached: str) -> None:
    assert verbalise_hop(hop) == text
    assert find_end_type(hop) == reached


def test_no_word_stands_twice_in_a_hop() -> None:
    assert verbalise_hop((DirectedRelation(RelationWords("country", ("country of birth",))),)) == "country of birth"


def test_there_and_back_is_the_same_thing() -> None:
    there = (DirectedRelation(BARE),)
    assert reverse_hop(reverse_hop(there)) == there
    assert verbalise_path([there, reverse_hop(there)]) == "same directed by"
    assert verbalise_path([there, (DirectedRelation(BIRTH),)]) == "directed by person place of birth"


@pytest.mark.parametrize(
    ("question", "topic", "masked"),
    [
        ("What is the capital of Peru?", "Peru", "What is the capital of ?"),
        ("who wrote the lord of the rings", "The Lord of the Rings", "who wrote the"),
        ("what is the capital", "Peru", "what is the capital"),
        ("Peru?", "Peru", "Peru?"),
    ],
)
def test_the_topic_is_masked_and_something_is_left(question: str, topic: str, masked: str) -> None:
    assert mask_topic(question, topic) == masked


@pytest.mark.parametrize(
    ("question", "phrase"),
    [
        ("Who painted it?", "person"),
        ("where was he born", "location"),
        ("when did it end", "date"),
        ("Which currency is used in Peru?", "currency used"),
        ("in what year of the war", "year war"),
        ("is it?", "it"),
        ("?", "thing"),
    ],
)
def test_what_is_asked_for(question: str, phrase: str) -> None:
    assert find_asked_type(question) == phrase


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("In what country was it filmed?", "country"),
        ("Which film director did he meet?", "film director"),
        ("Which country borders northern Peru?", "country borders"),  # two words at most
        ("Who knows which town it is?", "person"),
        ("Which of the two was it?", "two"),
    ],
)
def test_the_noun_that_is_asked_for(question: str, noun: str) -> None:
    assert find_asked_noun(question) == noun


def test_support_is_the_mean_of_the_best_agreements() -> None:
    hop_tokens = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    question = np.array([[1, 0], [0.8, 0.6]], dtype=np.float32)
    found = compute_support(hop_tokens, np.array([0, 2]), question)
    # hop 1: max(1, .8) and max(0, .6), mean .8; hop 2: max(.6, .96)
    assert found == pytest.approx([0.8, 0.96])
    assert compute_support(hop_tokens, np.array([0, 2]), question[:0]).tolist() == [0, 0]


def test_composed_cosine_of_padded_paths() -> None:
    hops = np.array([[1, 0], [0, 1]], dtype=np.float32)
    found = compose_cosine(hops, np.array([[0, -1], [0, 1]]), np.array([1, 0], dtype=np.float32))
    assert found == pytest.approx([1.0, 1 / math.sqrt(2)])


def test_the_score_term_by_term() -> None:
    weights = SimilarityWeights(support=0.5, type=0.25, hop=0.1)
    found = score_paths(
        cosine=np.array([0.6, 0.7], dtype=np.float32),
        paths=np.array([[0, -1], [0, 1]]),
        hop_support=np.array([0.4, 0.2], dtype=np.float32),
        hop_type=np.array([0.8, 0.4], dtype=np.float32),
        log_branching=np.array([math.log(8), math.log(8) + math.log(11)], dtype=np.float32),
        num_tokens=4,
        weights=weights,
    )
    one_hop = 0.6 + 0.5 * 0.4 + 0.25 * 0.8
    two_hops = 0.7 + 0.5 * 0.3 + 0.25 * 0.4 + 0.1 * (math.log(5) - math.log(8) - math.log(11))
    assert found == pytest.approx([one_hop, two_hops])
