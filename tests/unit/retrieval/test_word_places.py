"""Where the words of a question stand: what is asked for, what lies between, and in which order paths should go."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lodestar.models.similarity import PEOPLE, PathSimilarity, PathsOfTopic
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.text.verbalise import DirectedRelation, RelationMeaning, RelationWords
from lodestar.models.word_places import (
    WordPlaces,
    find_mention,
    find_stems,
    read_asked_words,
    score_word_order,
    stem,
)
from lodestar.models.wording.kinds import EndKind

MADE_BY, LEADS_TO = ((DirectedRelation(RelationWords("", (name,))),) for name in ("made by company", "located in town"))


@pytest.mark.parametrize(
    ("question", "topic", "asked", "between"),
    [
        ("Who leads the crew behind Vega?", "Vega", (), ("crew",)),
        ("In which town is the company that makes Vega?", "Vega", ("town",), ("company",)),
        ("What is the phone number of Vega's owner?", "Vega", ("phone", "number"), ("owner",)),
        ("What is the capital of Peru?", "Peru", ("capital",), ()),
        ("Who directed the film The Long Road?", "The Long Road", (), ()),
        ("Who stars in Vega?", "Vega", (), ()),
        ("Who are the actors in films by Ann Alder?", "Ann Alder", ("actors",), ("films",)),
        ("Who is Ann Alder's right hand?", "Ann Alder", ("right", "hand"), ()),
        ("Is it there?", "Vega", (), ()),
        ("Which big old stone town is near Vega?", "Vega", ("old", "stone"), ()),
        ("What was the tall grey cat colour of Vega", "Vega", ("grey", "cat"), ()),
        ("What is Vega's home town?", "Vega", ("home", "town"), ()),
        ("Whose teacher met Ann Alder?", "Ann Alder", ("teacher", "met"), ()),
        ("Who is the owner of the car Vega?", "Vega", ("owner",), ()),
        ("Who lives in the towns near the Vega?", "Vega", (), ("towns",)),
        ("Which towns have actors of Vega?", "Vega", ("towns",), ("actors",)),
        ("Name the films by Ann Alder", "Ann Alder", (), ()),
        ("Who painted the house of a Vega", "Vega", (), ("house",)),
        ("Who made films with actors from Vega then sold towns?", "Vega", (), ("films", "actors", "towns")),
        ("", "Vega", (), ()),
    ],
)
def test_nouns_of_a_question(question: str, topic: str, asked: tuple[str, ...], between: tuple[str, ...]) -> None:
    found = read_asked_words(question, topic)
    assert (found.asked, found.between) == (asked, between)


def test_words_after_a_topic_that_is_bound_to_those_before_are_further_away() -> None:
    bound = read_asked_words("Where does the teacher of Ann Alder work?", "Ann Alder")
    assert dict(zip(bound.words, bound.distances, strict=True)) == {"teacher": 1.0, "work": 2.5}
    made = read_asked_words("Who made films with actors from Vega then sold towns?", "Vega")
    assert made.words == ("made", "films", "actors", "then", "sold", "towns")
    assert made.distances == (3.0, 2.0, 1.0, 2.5, 3.5, 4.5)
    assert read_asked_words("Vega actors and films", "Vega").distances == (1.0, 2.0)
    assert read_asked_words("actors and films", "Vega").distances == (2.0, 1.0)
    free = read_asked_words("Where does Ann Alder's teacher work?", "Ann Alder")
    assert dict(zip(free.words, free.distances, strict=True)) == {"teacher": 1.0, "work": 2.0}


def test_a_way_back_is_asked_for_by_a_word() -> None:
    assert read_asked_words("Which other films have the director of Vega?", "Vega").goes_back
    assert not read_asked_words("Which films have the director of Vega?", "Vega").goes_back


def test_words_of_one_root_have_one_stem() -> None:
    assert find_stems(["directed director directs", "writer wrote"]) == {"direct", "writ"}


@pytest.mark.parametrize(
    ("words", "stems"),
    [
        ("cats bus uses", ("cat", "bus", "us")),
        ("Made WRITTEN sold", ("mak", "writ", "sell")),
        ("singing king sees", ("sing", "king", "s")),
        ("actions agreement Directors", ("action", "agr", "direct")),
    ],
)
def test_the_stem_of_a_word_is_what_is_left_before_its_ending(words: str, stems: tuple[str, ...]) -> None:
    """At least three letters are left of a word; an e at its end is none of its stem."""
    assert tuple(map(stem, words.split())) == stems


@pytest.mark.parametrize(
    ("words", "topic", "place"),
    [
        ("the lord of the rings", "Lord of the Rings", (1, 5)),
        ("the of", "the of", (0, 0)),
        ("ann met ann alder", "Ann Alder", (2, 4)),
        ("ann alder met bob ann", "Ann Alder", (0, 2)),
        ("a the cat the", "The Cat", (2, 3)),
        ("", "The Cat", (0, 0)),
    ],
)
def test_a_topic_is_mentioned_by_the_longest_run_of_its_words(words: str, topic: str, place: tuple[int, int]) -> None:
    assert find_mention(words.split(), topic) == place


@pytest.mark.parametrize(
    ("hops", "distances", "order"),
    [
        ([[0.05, 0], [0, 1]], [1, 2], 0.0),  # hardly a word is the first hop's alone
        ([[0.06, 0], [0, 1]], [1, 2], 0.06 * np.tanh(1)),
        ([[1, 1, 0], [0, 0, 1]], [1, 2, 4], np.tanh(2.5)),  # the mean of 1 and 2 is 2.5 before 4
        ([[1, 1, 0, 0], [0, 0, 1, 1]], [1, 1, 2, 2], np.tanh(1)),  # two words of each count no more than one
        ([[1, 0.5, 0], [1, 0, 0.5]], [9, 1, 2], 0.5 * np.tanh(1)),  # the first word is of both as much
        ([[0.9, 0.2], [0.3, 1]], [1, 2], 0.6 * np.tanh((2 * 0.8) / 0.8 - (1 * 0.6) / 0.6)),
    ],
)
def test_words_count_for_the_hop_that_means_them_more(
    hops: list[list[float]], distances: list[float], order: float
) -> None:
    words, away = np.array(hops, dtype=np.float32), np.array(distances, dtype=np.float32)
    assert score_word_order(words, away, np.array([[0, 1]])) == pytest.approx([order], abs=1e-6)


def test_the_order_of_three_hops_is_the_mean_of_both_steps() -> None:
    found = score_word_order(np.eye(3, dtype=np.float32), np.array([1, 2, 4], dtype=np.float32), np.array([[0, 1, 2]]))
    assert found == pytest.approx([(np.tanh(1) + np.tanh(2)) / 2])


def test_the_order_of_hops() -> None:
    hops = np.array([[1, 0, 0.5], [0, 1, 0.5]], dtype=np.float32)  # word 0 means hop 0, word 1 hop 1, word 2 either
    distances = np.array([1, 2, 9], dtype=np.float32)
    paths = np.array([[0, 1], [1, 0], [0, -1], [0, 0]])
    assert score_word_order(hops, distances, paths) == pytest.approx([np.tanh(1), -np.tanh(1), 0, 0])
    assert score_word_order(hops[:, :0], distances[:0], paths).tolist() == [0, 0, 0, 0]
    assert score_word_order(hops, distances, paths[:, :1]).tolist() == [0, 0, 0, 0]


def test_the_score_of_places_term_by_term() -> None:
    places = WordPlaces(
        np.zeros((3, 0), dtype=np.float32),
        np.zeros(0, dtype=np.float32),
        asked=np.array([0.1, 0.2, 0.3], dtype=np.float32),
        between=np.array([0.5, 0.6, 0.7], dtype=np.float32),
        reverse=np.array([2, -2, 0]),
    )
    paths = np.array([[0, -1], [0, 1], [0, 2]])
    found = places.score(paths, order=1, between=10, noun=100, back=1000)
    assert found == pytest.approx([10, 5 + 20, 5 + 30 + 1000])


@pytest.mark.parametrize(
    ("question", "hops"),
    [
        ("In which town is the company that makes Vega?", (MADE_BY, LEADS_TO)),
        ("Which company makes Vega?", (MADE_BY,)),
    ],
)
def test_a_noun_between_is_on_the_way(question: str, hops: tuple[tuple[DirectedRelation, ...], ...]) -> None:
    similarity = PathSimilarity(TextVectors(SentenceEncoder("all-MiniLM-L6-v2")), PEOPLE)
    paths = [(MADE_BY,), (MADE_BY, LEADS_TO)]
    asked = PathsOfTopic(question.replace("Vega", ""), paths, [0.0, 0.0], read_asked_words(question, "Vega"))
    ((stop, _),) = similarity.scores([[asked]])
    assert paths[int(stop.argmax())] == hops


INSURED = RelationWords("", ("insured with",), RelationMeaning(head=EndKind("animal", 1.0)))
SPECIES = RelationWords("", ("species",), RelationMeaning(head=EndKind("animal", 1.0), tail=EndKind("animal", 1.0)))


@pytest.mark.parametrize(
    ("question", "num_hops"),
    [("Which pets are insured with ?", 1), ("Which species do the pets insured with have?", 2)],
)
def test_a_noun_that_names_the_kind_of_things_does_not_ask_for_their_property(question: str, num_hops: int) -> None:
    similarity = PathSimilarity(TextVectors(SentenceEncoder("all-MiniLM-L6-v2")), PEOPLE)
    insured = (DirectedRelation(INSURED, inverse=True),)
    paths = [(insured,), (insured, (DirectedRelation(SPECIES),))]
    asked = PathsOfTopic(question, paths, [math.log(3), math.log(3) + math.log(4)])
    ((stop, _),) = similarity.scores([[asked]])
    assert int(stop.argmax()) == num_hops - 1
