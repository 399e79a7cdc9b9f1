"""Where the words of a question stand: what is asked for, what lies between, and in which order paths should go."""

from __future__ import annotations

import numpy as np
import pytest
from lodestar.models.word_positions import (
    WordPositions,
    read_asked_words,
    score_word_order,
)


@pytest.mark.parametrize(
    ("question", "topic", "asked", "between"),
    [
        ("Who leads the crew behind Vega?", "Vega", (), ("crew",)),
        ("In which town is the company that makes Vega?", "Vega", ("town",), ("company",)),
        ("What is the phone number of Vega's owner?", "Vega", ("phone", "number"), ("owner",)),
        ("What is the capital of Peru?", "Peru", ("capital",), ()),
        ("Who are the actors in films by Ann Alder?", "Ann Alder", ("actors",), ("films",)),
        ("Which big old stone town is near Vega?", "Vega", ("old", "stone"), ()),
        ("What is Vega's home town?", "Vega", ("home", "town"), ()),
        ("Who made films with actors from Vega then sold towns?", "Vega", (), ("films", "actors", "towns")),
        ("", "Vega", (), ()),
    ],
)
def test_nouns_of_a_question(question: str, topic: str, asked: tuple[str, ...], between: tuple[str, ...]) -> None:
    found = read_asked_words(question, topic)
    assert (found.asked, found.between) == (asked, between)


def test_the_order_of_hops() -> None:
    hops = np.array([[1, 0, 0.5], [0, 1, 0.5]], dtype=np.float32)  # word 0 means hop 0, word 1 hop 1, word 2 either
    distances = np.array([1, 2, 9], dtype=np.float32)
    paths = np.array([[0, 1], [1, 0], [0, -1], [0, 0]])
    assert score_word_order(hops, distances, paths) == pytest.approx([np.tanh(1), -np.tanh(1), 0, 0])
    assert score_word_order(hops[:, :0], distances[:0], paths).tolist() == [0, 0, 0, 0]
    assert score_word_order(hops, distances, paths[:, :1]).tolist() == [0, 0, 0, 0]


def test_the_score_of_places_term_by_term() -> None:
    places = WordPositions(
        np.zeros((3, 0), dtype=np.float32),
        np.zeros(0, dtype=np.float32),
        asked=np.array([0.1, 0.2, 0.3], dtype=np.float32),
        between=np.array([0.5, 0.6, 0.7], dtype=np.float32),
        reverse=np.array([2, -2, 0]),
    )
    paths = np.array([[0, -1], [0, 1], [0, 2]])
    found = places.score(paths, order=1, between=10, noun=100, back=1000)
    assert found == pytest.approx([10, 5 + 20, 5 + 30 + 1000])
