"""The formulas against values worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lodestar.models.path_similarity import (
    COSINE,
    PathSimilarity,
    SimilarityWeights,
    TopicPaths,
    compute_support,
    score_paths,
)
from lodestar.models.text import (
    DirectedRelation,
    Hop,
    RelationPhrases,
    RelationWords,
    find_end_type,
    reverse_hop,
    verbalise_directed_hop,
    verbalise_hop,
)
from lodestar.models.text.encoders import FloatArray, SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.word_positions import (
    AskedWords,
    collect_word_stems,
    find_central_kinds,
    remove_mention,
    remove_nouns,
)
from lodestar.models.wording.answer_kinds import RelationEndProfile

BIRTH = RelationWords("person", ("place of birth",))
CAST = RelationWords("tv program", ("regular cast", "actor"))
ADJOIN = RelationWords("location", ("borders",))
ADJOINS = RelationWords("adjoining relationship", ("neighbouring country",))
BARE = RelationWords("", ("directed by",))
SIBLING = RelationWords("", ("sibling",))


@pytest.mark.parametrize(
    ("hop", "text", "reached"),
    [
        ((DirectedRelation(BIRTH),), "person place of birth", "place of birth"),
        ((DirectedRelation(BIRTH, inverse=True),), "place of birth person", "person"),
        ((DirectedRelation(CAST),), "tv program regular cast actor", "actor"),
        ((DirectedRelation(CAST, inverse=True),), "regular cast actor tv program", "tv program"),
        ((DirectedRelation(BARE),), "directed by", "directed by"),
        ((DirectedRelation(BARE, inverse=True),), "directed by", ""),
        ((DirectedRelation(SIBLING, inverse=True), DirectedRelation(BARE)), "sibling directed by", "directed by"),
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
    assert verbalise_directed_hop(hop) != verbalise_directed_hop(reverse_hop(hop))


@pytest.mark.parametrize(
    ("question", "topic", "masked"),
    [
        ("What is the capital of Peru?", "Peru", "What is the capital of ?"),
        ("who wrote the lord of the rings", "The Lord of the Rings", "who wrote"),
        ("who wrote about lord byron", "Lord Byron and the Sea", "who wrote about"),
        ("who wrote the film On My Way", "On My Way", "who wrote"),
        ("what is the mayor of the city Lima called", "Lima", "what is the mayor of called"),
        ("which film Mann directed", "Mann", "which film directed"),
        ("what are the films of the director Mann", "Mann", "what are the films of the director"),
        ("what is the capital", "Peru", "what is the capital"),
        ("Peru?", "Peru", "Peru?"),
    ],
)
def test_the_topic_is_masked_and_something_is_left(question: str, topic: str, masked: str) -> None:
    assert remove_mention(question, topic) == masked


@pytest.mark.parametrize(
    ("kind", "relations", "question", "left"),
    [
        ("work", ("directed by", "written by"), "which movies did write", "which did write"),
        ("place", ("flows into", "borders"), "which rivers border", "which border"),
        ("product", ("made by", "part of car"), "which cars and wines are made by", "which cars and are made by"),
        ("person", ("child of", "teaches"), "which kids did the teacher teach", "which kids did the teacher teach"),
    ],
)
def test_nouns_of_what_all_relations_are_of_tell_none_from_another(
    kind: str, relations: Sequence[str], question: str, left: str
) -> None:
    """But for people, and for words that a relation is called by."""
    words = [RelationWords("", (each,), RelationPhrases(head=RelationEndProfile(kind, 1.0))) for each in relations]
    stems = collect_word_stems(relations)
    assert remove_nouns(question, find_central_kinds(words), stems) == left
    other = RelationWords("", ("size",), RelationPhrases(head=RelationEndProfile("organisation", 1.0)))
    assert remove_nouns(question, find_central_kinds([*words, other]), stems) == question


def test_support_is_the_mean_of_the_best_agreements() -> None:
    hop_tokens = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    question = np.array([[1, 0], [0.8, 0.6]], dtype=np.float32)
    found = compute_support(hop_tokens, np.array([0, 2]), question)
    # hop 1: max(1, .8) and max(0, .6), mean .8; hop 2: max(.6, .96)
    assert found == pytest.approx([0.8, 0.96])
    assert compute_support(hop_tokens, np.array([0, 2]), question[:0]).tolist() == [0, 0]


def test_the_score_term_by_term() -> None:
    weights = SimilarityWeights(support=0.5, type=0.25, hop=0.1, kind=2.0, cover=3.0)
    found = score_paths(
        cosine=np.array([0.6, 0.7], dtype=np.float32),
        paths=np.array([[0, -1], [0, 1]]),
        hop_support=np.array([0.4, 0.2], dtype=np.float32),
        hop_type=np.array([0.8, 0.4], dtype=np.float32),
        log_branching=np.array([math.log(8), math.log(8) + math.log(11)], dtype=np.float32),
        num_tokens=4,
        weights=weights,
        hop_kind=np.array([0.5, -1.0], dtype=np.float32),
        hop_cover=np.array([[0.2, 0.4], [0.9, 0.1]], dtype=np.float32),
    )
    one_hop = 0.6 + 0.5 * 0.4 + 0.25 * 0.8 + 2 * 0.5 + 3 * 0.3
    two_hops = 0.7 + 0.5 * 0.3 + 0.25 * 0.4 + 0.1 * (math.log(5) - math.log(8) - math.log(11)) - 2 + 3 * 0.65
    assert found == pytest.approx([one_hop, two_hops])


class Axes(SentenceEncoder):
    """Each word is an axis of its own and a token; a text is the direction of the sum of its words."""

    def __init__(self) -> None:
        super().__init__("axes")
        self.words: dict[str, int] = {}
        self.batches: list[list[str]] = []
        """Of texts with their tokens."""
        self.sentences: list[list[str]] = []
        """Of texts alone."""

    def encode(self, texts: Sequence[str]) -> FloatArray:
        self.sentences.append(list(texts))
        return self.directions(texts)

    def directions(self, texts: Sequence[str]) -> FloatArray:
        found = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                found[row, self.words.setdefault(word, len(self.words))] += 1
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-6), dtype=np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[Any]:
        self.batches.append(list(texts))
        return [(self.directions([text])[0], self.directions(text.split())) for text in texts]


def hop(name: str, *phrases: str, inverse: bool = False, domain: str = "", **ends: RelationEndProfile) -> Hop:
    asked = {"inverse" if inverse else "forward": phrases}
    return (DirectedRelation(RelationWords(domain, (name,), RelationPhrases(**asked, **ends)), inverse),)


CAPITAL, BORDERS, OTHER = hop("capital"), hop("borders"), hop("zzz")
ASKED = "capital country borders"
ONE_HOP = replace(COSINE, support=0.5, type=0.4, hop=0.14)


def similarity(weights: SimilarityWeights | None = None, **options: Any) -> PathSimilarity:
    return PathSimilarity(TextVectors(Axes()), weights, **options)


def score(
    weights: SimilarityWeights, path: tuple[Hop, ...], masked: str = ASKED, asked: AskedWords | None = None
) -> float:
    """What is added to the cosine of a path whose text is as its hops are."""
    ((stop, extend),) = similarity(weights).scores([[TopicPaths(masked, [path], [0.0], asked)]])
    ((cosine, _),) = similarity(replace(COSINE, phrases=weights.phrases)).scores([[TopicPaths(masked, [path], [0.0])]])
    assert stop == pytest.approx(extend)
    return float(stop[0] - cosine[0])


def test_paths_of_a_batch_by_hand() -> None:
    """Of three words asked for a path says one, two or none. The first two are asked for: half of it is reached."""
    there_and_back = (BORDERS, reverse_hop(BORDERS))
    first = TopicPaths(ASKED, [(CAPITAL,), (BORDERS, CAPITAL), (OTHER,)], [0.0, math.log(2), 0.0])
    second = TopicPaths(ASKED, [there_and_back], [0.0])
    empty = TopicPaths("which", [], [])
    (stop, extend), nothing, none = similarity(ONE_HOP).scores([[first, empty, second], [empty], []])
    reached = 0.4 / math.sqrt(2)
    one = 1 / math.sqrt(3) + 0.5 + reached
    two = 2 / math.sqrt(6) + 0.5 + reached + 0.14 * (math.log(4) - math.log(2))
    back = 0.5 + 0.4 * 0.25 + 0.14 * math.log(4)
    assert extend == pytest.approx([one, two, 0.0, 1 / math.sqrt(3) + back])
    assert stop == pytest.approx([one, two, 0.0, 1 / math.sqrt(6) + back])
    assert [len(each) for each in (*nothing, *none)] == [0, 0, 0, 0]
    assert stop.dtype == extend.dtype == np.float32
    composed = similarity(ONE_HOP).score_composed([[first, second]])
    assert np.concatenate([found for found, _ in composed[0]]) == pytest.approx(extend)
    assert np.concatenate([kind for _, kind in composed[0]]) == pytest.approx([0.5**0.5, 0.5**0.5, 0.0, 0.25])


def test_words_of_the_question_that_a_path_uses_up_count() -> None:
    """One word of three is used, or two: σ(.4 / .07) = .9967 of each, and σ(−.6 / .07) = .0002 of the others."""
    cover = replace(COSINE, cover=2.0)
    assert score(cover, (CAPITAL,)) == pytest.approx(2 * (0.99671 + 2 * 0.00019) / 3, abs=1e-4)
    assert score(cover, (CAPITAL, BORDERS), "the capital it borders") == pytest.approx(2 * 0.99671, abs=1e-4)
    assert score(cover, (OTHER,), "the it") == pytest.approx(2 * 0.00019, abs=1e-4)


def test_what_a_path_leads_to_counts_by_its_kind() -> None:
    kind = replace(COSINE, kind=0.5)
    born = hop("born", head=RelationEndProfile("person", 1.0), tail=RelationEndProfile("date", 1.0))
    assert score(kind, (OTHER, born), "when was it") == pytest.approx(0.5)
    assert score(kind, (OTHER, reverse_hop(born)), "when was it") == pytest.approx(-0.5)
    assert score(kind, (born, OTHER), "when was it") == 0


def test_a_hop_is_read_in_the_phrase_that_fits_best() -> None:
    """In its own words the path says nothing: half of the exact cosine is that of the phrase."""
    named = hop("xyz", "seat", "capital country")
    for phrases, extended, exact in ((True, 2 / math.sqrt(6), 1 / math.sqrt(6)), (False, 0.0, 0.0)):
        weights = replace(COSINE, phrases=phrases)
        ((stop, extend),) = similarity(weights).scores([[TopicPaths(ASKED, [(named,)], [0.0])]])
        assert (float(extend[0]), float(stop[0])) == pytest.approx((extended, exact))


def test_nouns_and_the_order_of_words_count_where_places_are_read() -> None:
    """The town is asked for, the company lies between; the second hop's words are one word further away."""
    asked = AskedWords(("company", "town"), (1.0, 2.0), ("town",), ("company",), goes_back=False)
    company, town = hop("company"), hop("town")
    masked = "town company"
    for weights, there, other in (
        (replace(COSINE, noun=0.5), 0.5, 0.0),
        (replace(COSINE, between=0.5), 0.5, 0.0),
        (replace(COSINE, order=0.5), 0.5 * math.tanh(1), -0.5 * math.tanh(1)),
    ):
        assert score(weights, (company, town), masked, asked) == pytest.approx(there, abs=1e-3)
        assert score(weights, (town, company), masked, asked) == pytest.approx(other, abs=1e-3)
        assert score(weights, (company, town), masked) == 0
    back = replace(COSINE, back=-0.5)
    for goes_back, value in ((False, -0.5), (True, 0.0)):
        found = score(back, (town, OTHER, reverse_hop(OTHER)), "qqq", replace(asked, goes_back=goes_back))
        assert found == pytest.approx(value)
    assert score(
        replace(COSINE, back=SimilarityWeights().back), (OTHER, reverse_hop(OTHER)), "qqq", asked
    ) == pytest.approx(SimilarityWeights().back)
    assert score(back, (OTHER, town, reverse_hop(OTHER)), "qqq", asked) == 0
    returns = replace(asked, returns=frozenset({"town"}))
    for path, value in (((town, reverse_hop(town)), 0.5), ((OTHER, town, reverse_hop(town)), 0.0)):
        assert score(back, path, "qqq", returns) == pytest.approx(value)
    assert score(back, (town, OTHER, reverse_hop(OTHER)), "qqq", returns) == pytest.approx(-0.5)
