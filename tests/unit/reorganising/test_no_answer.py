"""Why there is no answer: by a graph in memory, and the scorer of the tests, which counts shared words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from lodestar.engine.answering.extractive import ExtractiveAnswerer
from lodestar.engine.evidence.calibration import (
    FIRST_ANSWER,
    PEOPLE,
    SIMILARITY,
    Calibration,
    Certainty,
    CertaintyWeights,
    sigmoid,
)
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence, answer_data
from lodestar.engine.pipeline import ReorganisedRetriever
from lodestar.engine.reorganising.absent_relations import AbsentRelations
from lodestar.engine.reorganising.no_answer import ABSENT_SHARE, NoAnswerExplainer
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.values import Entity, Question, RelationStep, Scored, Topic
from lodestar.models.text.vectors import TextVectors
from lodestar.models.text.verbalise import NO_MEANING, RelationMeaning, RelationWords
from lodestar.models.wording.english import list_common_relations

from tests.fakes.letter_encoder import LetterEncoder
from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.word_scorer import WordScorer
from tests.made.evidence import evidence_of, leads, retrieved

GRAPH = MemoryGraph([("Peru", "capital", "Lima"), ("Chile", "currency", "Peso"), ("Chile", "capital", "Santiago")])
SCORE = Calibration("logit", 10.0, -1.0)
ASKED: list[str] = []


def nearest(text: str, topic: Topic, num_relations: int) -> frozenset[str]:
    ASKED.append(f"{text} {topic.entity.id} {num_relations}")
    return frozenset({"currency"})


def ask(question: Question) -> tuple[str, str | None]:
    search = BeamSearch(GRAPH.numbered, WordScorer(), calibration=SCORE, max_hop=1)
    explained = ReorganisedRetriever(search, NoAnswerExplainer(WordScorer(), SCORE, GRAPH.numbered, nearest))
    answer = ExtractiveAnswerer().answer_of(retrieved(GRAPH, explained, [question])[0])
    assert answer_data(answer)["reason"] == answer.reason
    return answer.text, answer.reason


def test_a_relation_that_fits_and_has_no_triple_there() -> None:
    text = "no answer found: currency fits the question, and the graph has no triple of it at Peru"
    assert ask(Question("currency?", ("Peru",))) == (text, "no triple")


def test_no_relation_fits() -> None:
    assert ask(Question("mayor?", ("Peru",))) == (
        "no answer found: no relation fits the question",
        "no relation fits",
    )


def test_an_answer_has_no_reason() -> None:
    assert ask(Question("capital?", ("Peru",))) == ("Lima", None)


PERU, LIMA, CUSCO = (Entity(name, name) for name in ("Peru", "Lima", "Cusco"))
ONLY_SCORE = CertaintyWeights(1.0, 0.0, 0.0, 0.0)


def explain(
    *items: Scored[Chain],
    text: str = "currency?",
    weights: CertaintyWeights | None = None,
    absent: AbsentRelations | None = None,
    calibration: Calibration | None = SCORE,
) -> Evidence[Chain]:
    """What the stage makes of evidence about Peru, which has the capital only."""
    stage = NoAnswerExplainer(WordScorer(), SCORE, GRAPH.numbered, nearest, weights, absent)
    topics = (Topic(PERU, relations=(GRAPH.relations["capital"],)),)
    steps = stage.reorganise([evidence_of(*items, text=text, calibration=calibration, topics=topics)])
    return cast(Evidence[Chain], GRAPH.run(steps)[0])


def test_without_a_calibration_nobody_knows_that_a_path_fits() -> None:
    found = explain(Scored(leads("capital", LIMA, topic=PERU), 0.9), text="mayor?", calibration=None)
    assert (found.reason, found.note) == ("no relation fits", "no relation fits the question")


def test_what_is_as_likely_as_an_answer_must_be_is_one() -> None:
    found = explain(Scored(leads("capital", LIMA, topic=PERU), 0.2), calibration=Calibration("probability"))
    assert (found.reason, found.note) == (None, "")


@pytest.mark.parametrize(("intercept", "reason"), [(-0.1, "no relation fits"), (0.1, "no triple")])
def test_a_relation_lacks_a_triple_from_a_probability_of_one_half(intercept: float, reason: str) -> None:
    stage = NoAnswerExplainer(WordScorer(), Calibration("logit", 0.0, intercept), GRAPH.numbered, nearest)
    topics = (Topic(PERU, relations=(GRAPH.relations["capital"],)),)
    (found,) = GRAPH.run(stage.reorganise([evidence_of(text="currency?", calibration=SCORE, topics=topics)]))
    assert found.reason == reason


@pytest.mark.parametrize(
    ("score", "lacking"),
    [(0.5, 2 / 3 - 0.5), (0.8, 2 / 3 - 0.8), (-9.0, 0.5), (9.0, -0.5)],  # currency's path scores 1 − 1/3
)
def test_what_fits_elsewhere_counts_within_its_bounds(score: float, lacking: float) -> None:
    said = explain(Scored(leads("capital", LIMA, topic=PERU), score), weights=ONLY_SCORE).extra_of(Certainty)
    assert said is not None
    assert said.lacking == pytest.approx(lacking)
    assert said.margin == 0.5  # there is no other path


def test_how_sure_the_first_answer_is_by_hand() -> None:
    """1.6 · 1 + 2.83 · .5 − 2.16 · .25 − 3.92 = −1.445."""
    probability = FIRST_ANSWER.probability(1.0, 0.5, 0.25)
    assert probability == pytest.approx(1 / (1 + math.exp(1.445)))
    said = Certainty("m.peru", "capital", 1 / 3, 0.5, 0.25, probability)
    assert said.as_json() == {"certainty": {"probability": 0.190772, "score": 0.333333, "margin": 0.5, "lacking": 0.25}}


@pytest.mark.parametrize(
    ("calibration", "score", "probability"),
    [
        (PEOPLE, 2.0, 1 / (1 + math.exp(-0.34))),
        (SIMILARITY, 1.0, 1 / (1 + math.exp(-0.32))),
        (Calibration("logit"), -math.inf, 0.0),
        (Calibration("logit"), 9_999.0, 1.0),
        (Calibration("probability"), 1.5, 1.0),
        (Calibration("probability"), -0.5, 0.0),
    ],
)
def test_a_score_is_a_probability_by_its_calibration(
    calibration: Calibration, score: float, probability: float
) -> None:
    assert calibration.probability(score) == pytest.approx(probability)


def test_the_certainty_is_of_the_margin_and_of_what_fits_elsewhere() -> None:
    one, two = Scored(leads("capital", LIMA, topic=PERU), 0.9), Scored(leads("city", LIMA, topic=PERU), 0.8)
    third = Scored(leads("town", CUSCO, topic=PERU), 0.6)
    found = explain(one, two, third, weights=CertaintyWeights(1.0, 2.0, -3.0, 0.5))
    said = found.extra_of(Certainty)
    assert said is not None
    assert said.margin == pytest.approx(0.3)  # not .1: both lead to Lima
    assert -0.5 <= said.lacking <= 0.5
    assert found.confidence == pytest.approx(sigmoid(0.9 + 2 * 0.3 - 3 * said.lacking + 0.5))
    assert found.probability(0) == SCORE.probability(0.9)


def test_a_certainty_is_of_one_path_with_one_score() -> None:
    one, two = Scored(leads("capital", LIMA, topic=PERU), 0.9), Scored(leads("city", CUSCO, topic=PERU), 0.8)
    found = explain(one, two, weights=ONLY_SCORE)
    assert found.confidence == pytest.approx(sigmoid(0.9))
    assert (found.reason, found.note) == (None, "")
    said = found.extra_of(Certainty)
    assert said is not None
    assert said.margin == pytest.approx(0.1)
    assert replace(found, items=(two, one)).confidence == SCORE.probability(0.8)
    assert replace(found, items=(Scored(one.value, 0.7), two)).confidence == SCORE.probability(0.7)
    assert replace(found, calibration=None).confidence is None
    again = explain(one, two, weights=ONLY_SCORE).extras
    assert len(again) == 1


class Absent(AbsentRelations):
    """Of every question, the same relation fits with the same score."""

    def __init__(self, score: float, common: str = "capital") -> None:
        self.score = score
        self.common = common

    def is_common(self, step: RelationStep) -> bool:
        return step.relation == self.common

    def find_best(self, asked: Sequence[tuple[str, Topic]]) -> list[Scored[str] | None]:
        return [Scored("mayor", self.score) for _ in asked]


@pytest.mark.parametrize(("score", "share"), [(2.76, ABSENT_SHARE), (2.75, 1.0), (2.74, 1.0)])
def test_a_relation_that_the_graph_lacks_counts_where_it_fits_far_better(score: float, share: float) -> None:
    path = Scored(leads("capital", LIMA, topic=PERU), 2.0)
    found = explain(path, text="mayor?", weights=ONLY_SCORE, absent=Absent(score))
    assert found.confidence == pytest.approx(share * sigmoid(2.0))
    assert (found.note == "it asks for mayor, and no relation of the graph says that") == (share < 1)
    said = found.extra_of(Certainty)
    assert said is not None
    assert said.as_json()["certainty"].get("absent") == ("mayor" if share < 1 else None)


def test_what_a_graph_says_in_other_words_is_not_absent() -> None:
    vectors = TextVectors(LetterEncoder())
    assert AbsentRelations({}, vectors).names == list(list_common_relations())
    named = AbsentRelations({"http://x/b": RelationWords("", ("mayor",), NO_MEANING)}, vectors).names
    said = AbsentRelations({"http://x/b": RelationWords("", ("xyz",), RelationMeaning(("mayor",)))}, vectors).names
    assert "mayor" not in {*named, *said}
    assert "spouse" in {*named} & {*said}


def test_a_relation_is_a_common_one_by_its_name_or_a_phrase() -> None:
    words = {
        "a": RelationWords("", ("mayor",), NO_MEANING),
        "b": RelationWords("", ("xyz",), RelationMeaning(("mayor",))),
        "c": RelationWords("", ("xyz",), NO_MEANING),
    }
    absent = AbsentRelations(words, TextVectors(LetterEncoder()))
    assert [absent.is_common(RelationStep(name)) for name in words] == [True, True, False]
    assert not absent.is_common(RelationStep("a", inverse=True))
