"""Where the words of a question stand: what is asked for, what lies between, and in which order paths should go."""

from __future__ import annotations

import numpy as np
import pytest
from lodestar.models.word_positions import WordPositions, collect_word_stems, read_asked_words, score_word_order


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
        np.array([[0.5, 0.5], [0.4, 0.5], [0, 0]], dtype=np.float32),
        np.zeros(2, dtype=np.float32),
        asked=np.array([0.1, 0.2, 0.3], dtype=np.float32),
        between=np.array([0.5, 0.6, 0.7], dtype=np.float32),
        reverse=np.array([2, -2, 0]),
        returns=np.array([False, False, True]),
        turned=np.array([0, 0.5, 0], dtype=np.float32),
        contrary=np.array([False, False, True]),
        named=np.array([False, True, False]),
    )
    paths = np.array([[0, -1], [0, 1], [0, 2], [1, -1], [2, 0], [0, 0], [1, 1]])
    found = places.score(paths, order=0, between=10, noun=100, back=1000, against=10_000)
    first = [10, 5 + 20 + 10_000, 5 + 30 + 1000 + 10_000, 20 + 5_000, 7 + 10 - 1000 + 10_000]
    assert found == pytest.approx([*first, 5 + 10, 6 + 20 + 1000 + 5_000])  # two words mean hop 0 twice, not hop 1


@pytest.mark.parametrize(
    ("question", "roots"),
    [
        ("Who directed the films written by the writer of Vega?", {"writ"}),
        ("Which towns are governed by the governor of Vega?", {"govern"}),
        ("Which books did the screenwriter of Vega write?", {"writ"}),
        ("Which clubs share a coach with Vega?", {"coach"}),
        ("Who are the children of the child of Vega?", set()),
        ("Which other towns are near Vega?", set()),
    ],
)
def test_a_relation_said_in_both_directions_leads_back(question: str, roots: set[str]) -> None:
    assert read_asked_words(question, "Vega").returns == roots


@pytest.mark.parametrize(
    ("question", "topic", "relation", "forward", "inverse"),
    [
        ("Who was Ann Alder's mentor?", "Ann Alder", "mentored by", False, True),
        ("Who is the owner of the Vega?", "Vega", "owned by", False, True),
        ("Which ships are owned by Ann Alder?", "Ann Alder", "owned by", True, False),
        ("Who was taught by Ann Alder?", "Ann Alder", "taught by", True, False),
        ("Who are Ann Alder's employees?", "Ann Alder", "employed by", False, False),
        ("What are Ann Alder's paintings?", "Ann Alder", "painted by", False, False),
        ("Who mentored Ann Alder?", "Ann Alder", "mentored by", False, True),
        ("Who owns the Vega?", "Vega", "owned by", False, True),
        ("Who owns the ship Vega?", "Vega", "owned by", False, True),
        ("Which films are of director Ann Alder?", "Ann Alder", "directed by", False, False),
        ("What does Ann Alder own?", "Ann Alder", "owned by", True, False),
        ("Who is the supervisor of Ann Alder?", "Ann Alder", "supervisor", False, True),
        ("Who supervises Ann Alder?", "Ann Alder", "supervisor", False, True),
        ("Who supervises Ann Alder?", "Ann Alder", "supervises", True, False),
        ("Whom does Ann Alder supervise?", "Ann Alder", "supervises", False, True),
        ("Who are Ann Alder's pupils?", "Ann Alder", "pupil of", True, False),
        ("Who is Ann Alder a pupil of?", "Ann Alder", "pupil of", False, False),
        ("What is the sequel of Vega?", "Vega", "sequel", False, True),
        ("Who are Ann Alder's siblings?", "Ann Alder", "siblings", False, False),
        ("Which countries border Peru?", "Peru", "borders", False, False),
        ("Where is Vega?", "Vega", "::", False, False),
        ("Who is the director of Ann Alder films?", "Ann Alder", "directed by", False, False),
        ("Which films are written by the Vega author?", "Vega", "written by", False, False),
        ("Who are co-writers of Ann Alder?", "Ann Alder", "written by", False, False),
    ],
)
def test_a_relation_of_what_was_done_has_one_direction(
    question: str, topic: str, relation: str, forward: bool, inverse: bool
) -> None:
    asked = read_asked_words(question, topic)
    assert asked.is_turned(relation, inverse=False, alike=True) == forward
    assert asked.is_turned(relation, inverse=True, alike=True) == inverse
    is_phrase = relation.endswith(" by")
    assert asked.is_turned(relation, inverse=False, alike=False) == (forward and is_phrase)


@pytest.mark.parametrize(
    ("question", "relation", "contrary"),
    [
        ("Who is the father of Vega?", "mother", True),
        ("When did Vega die?", "birth date", True),
        ("When does the Vega close?", "opening hours", True),
        ("When did the mother of the father of Vega die?", "mother", False),
        ("Who are the children of Vega?", "mother", False),
        ("When does the Vega close?", "open or closed", False),
    ],
)
def test_a_relation_of_the_opposite_is_contrary(question: str, relation: str, contrary: bool) -> None:
    assert read_asked_words(question, "Vega").is_contrary(collect_word_stems([relation])) == contrary
