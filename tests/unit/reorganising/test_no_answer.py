"""Why there is no answer: by a graph in memory, and the scorer of the tests, which counts shared words."""

from __future__ import annotations

import math

import pytest
from lodestar.engine.answering import ExtractiveAnswerer
from lodestar.engine.data_model import Chain, Entity, Question, Scored, Topic, Triple
from lodestar.engine.evidence import Calibration, Evidence
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.retrieval.no_answer import NoAnswerExplainer
from lodestar.models.text import RelationPhrases, RelationWords
from lodestar.models.wording.answer_kinds import RelationEndProfile

from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.word_scorer import WordScorer
from tests.made.evidence import Path, chain_of, evidence_of, leads, retrieved

GRAPH = MemoryGraph([("Peru", "capital", "Lima"), ("Chile", "currency", "Peso"), ("Chile", "capital", "Santiago")])
SCORE = Calibration("logit", 10.0, -1.0)
ASKED: list[str] = []


def nearest(text: str, topic: Topic, num_relations: int) -> frozenset[str]:
    ASKED.append(f"{text} {topic.entity.id} {num_relations}")
    return frozenset({"currency"})


def ask(question: Question) -> tuple[str, str | None]:
    search = BeamSearch(GRAPH.numbered, WordScorer(), calibration=SCORE, max_hop=1)
    explain = NoAnswerExplainer(WordScorer(), SCORE, GRAPH.numbered, nearest)
    answer = ExtractiveAnswerer().answer_of(explain(retrieved(GRAPH, search, [question]))[0])
    assert answer.to_dict()["reason"] == answer.reason
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


def explain(
    *items: Scored[Chain],
    text: str = "currency?",
    doubts: bool = False,
    calibration: Calibration | None = SCORE,
) -> Evidence[Chain]:
    """What the stage makes of evidence about Peru, which has the capital only."""
    stage = NoAnswerExplainer(WordScorer(), SCORE, GRAPH.numbered, nearest, doubts=doubts)
    topics = (Topic(PERU, relations=(GRAPH.relations["capital"],)),)
    return stage([evidence_of(*items, text=text, calibration=calibration, topics=topics)])[0]


@pytest.mark.parametrize(
    ("calibration", "score", "probability"),
    [
        (Calibration("similarity", 2.0, -3.0), 2.0, 1 / (1 + math.exp(-1.0))),
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


@pytest.mark.parametrize(
    ("question", "end", "is_stated"),
    [
        ("Who capital Peru?", "year", False),
        ("Who capital Peru?", "person", True),
        ("When capital Peru?", "person", False),
        ("When capital Peru?", "date", True),
        ("capital Peru?", "year", True),
    ],
)
def test_an_answer_of_another_kind_than_asked_is_not_stated(question: str, end: str, is_stated: bool) -> None:
    words = {"capital": RelationWords("", ("capital",), RelationPhrases(tail=RelationEndProfile(end, 1.0)))}
    stage = NoAnswerExplainer(WordScorer(), SCORE, GRAPH.numbered, nearest, doubts=True, words=words)
    topics = (Topic(PERU, relations=(GRAPH.relations["capital"],), mention="Peru"),)
    found = stage(
        [evidence_of(Scored(leads("capital", LIMA, topic=PERU), 3.0), text=question, calibration=SCORE, topics=topics)]
    )[0]
    assert (found.confidence is not None and found.confidence >= 0.5) == is_stated


@pytest.mark.parametrize(
    ("relation", "score", "is_stated"), [("capital", 2.98, False), ("capital", 2.9, True), ("mayor", 2.98, True)]
)
def test_of_two_ways_over_a_relation_that_fit_as_well_none_is_stated(
    relation: str, score: float, is_stated: bool
) -> None:
    other = chain_of(Path((Triple(CUSCO, relation, PERU),), (True,)))
    found = explain(Scored(leads("capital", LIMA, topic=PERU), 3.0), Scored(other, score), doubts=True)
    assert (found.confidence is not None and found.confidence >= 0.5) == is_stated
