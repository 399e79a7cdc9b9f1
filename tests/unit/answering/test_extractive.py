from __future__ import annotations

import math

import pytest
from lodestar.engine.answering.extractive import ExtractiveAnswerer
from lodestar.engine.cli.render import answer_lines
from lodestar.engine.evidence.calibration import SIMILARITY, Calibration, Unit
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Answer, Evidence, Item
from lodestar.engine.evidence.plain import answer_data
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple

from tests.made.evidence import CERTAIN, evidence_of, leads

PERU = Entity("p", "Peru")
LIMA, CUSCO, SOL = Entity("l", "Lima"), Entity("c", "Cusco"), Entity("s", "Sol")


def path(relation: str, *ends: Entity, score: float, targets: tuple[Entity, ...] = ()) -> Scored[Chain]:
    return Scored(leads(relation, *ends, topic=PERU, targets=targets), score)


def answer(evidence: Evidence[Item]) -> Answer:
    return ExtractiveAnswerer().answer_of(evidence)


def test_answers_are_the_ends_of_the_best_path_with_their_evidence() -> None:
    paths = (path("city", LIMA, CUSCO, score=1.0), path("capital", LIMA, score=0.0), path("money", SOL, score=0.0))
    found = answer(evidence_of(*paths, calibration=CERTAIN))
    assert [(e.name, e.evidence) for e in found.entities] == [("Lima", (0, 1)), ("Cusco", (0,))]
    total = 1 + 2 * math.exp(-1)
    assert [e.confidence for e in found.entities] == pytest.approx([(1 + math.exp(-1)) / total, 1 / total])
    assert found.text == "Lima, Cusco"


@pytest.mark.parametrize(("unit", "less"), [("similarity", 0.1), ("logit", 1.0), ("probability", 1.0)])
def test_paths_are_weighed_by_the_temperature_of_their_scores(unit: Unit, less: float) -> None:
    """A path whose score is less by one temperature weighs 1 / e as much."""
    paths = (path("city", LIMA, CUSCO, score=1.0), path("capital", LIMA, score=1.0 - less))
    found = answer(evidence_of(*paths, calibration=Calibration(unit, 0.0, 50.0)))
    lima, cusco = (each.confidence for each in found.entities)
    assert cusco == pytest.approx(1 / (1 + math.exp(-1)))
    assert lima == pytest.approx(1)


def test_where_two_topics_meet_only_the_meeting_is_answered() -> None:
    found = answer(evidence_of(path("city", LIMA, CUSCO, score=1.0, targets=(CUSCO,)), calibration=CERTAIN))
    assert [e.name for e in found.entities] == ["Cusco"]


def test_confidence_is_calibrated_by_the_best_score() -> None:
    found = answer(evidence_of(path("city", LIMA, score=0.9), calibration=Calibration("logit", 2.0, -1.0)))
    assert found.entities[0].confidence == pytest.approx(1 / (1 + math.exp(-0.8)))


@pytest.mark.parametrize(
    ("paths", "note", "reason"),
    [
        ((), "no known entity in the question", "no known entity"),
        ((), "", "no path to an answer was found"),
        ((path("city", LIMA, score=-1.0),), "", "the best path is right with a probability of 0.00, less than 0.20"),
    ],
)
def test_no_answer_says_why(paths: tuple[Scored[Chain], ...], note: str, reason: str) -> None:
    found = answer(evidence_of(*paths, calibration=SIMILARITY, note=note))
    assert (found.found, found.entities) == (False, ())
    assert found.text.startswith(f"no answer found: {reason}")


def test_many_answers_are_named_up_to_a_limit() -> None:
    ends = [Entity(str(i), f"city {i:02}") for i in range(30)]
    found = answer(evidence_of(path("city", *ends, score=1.0), calibration=CERTAIN))
    assert len(found.entities) == 30
    assert found.text.endswith("city 09 and 20 more")


@pytest.mark.parametrize(
    ("probability", "text", "unsure"),
    [
        (0.19, "no answer found: the best path is right with a probability of 0.19, less than 0.20", False),
        (0.2, "unsure: perhaps Lima", True),
        (0.5, "Lima", False),
    ],
)
def test_what_is_shown_is_what_is_held_against_the_bounds(probability: float, text: str, unsure: bool) -> None:
    found = answer(evidence_of(path("city", LIMA, score=probability), calibration=Calibration("probability")))
    assert (found.text, found.unsure, found.confidence) == (text, unsure, probability)


def test_a_filter_may_put_an_item_of_a_lower_score_first() -> None:
    found = answer(evidence_of(path("city", LIMA, score=-900.0), path("capital", LIMA, score=900.0)))
    assert [each.name for each in found.entities] == ["Lima"]


def test_scores_without_calibration_say_nothing_of_how_sure_an_answer_is() -> None:
    found = answer(evidence_of(path("city", LIMA, score=-9.0)))
    assert found.entities
    assert (found.confidence, found.unsure, found.entities[0].confidence) == (None, False, None)
    assert answer_data(found)["confidence"] is None
    assert any("no confidence (these scores have no calibration" in line for line in answer_lines(found, 3))


def test_triples_are_read_as_the_chains_that_they_make() -> None:
    triples = tuple(
        Scored(triple, score)
        for triple, score in ((Triple(PERU, "city", CUSCO), 0.9), (Triple(CUSCO, "by", LIMA), 0.8))
    )
    evidence = Evidence(Question("?"), (Topic(PERU),), "triple", triples, Calibration("probability"))
    found = answer(evidence)
    assert [e.name for e in found.entities] == ["Cusco"]
    assert found.evidence.kind == "chain"
    assert [str(i.value.relation_path) for i in found.evidence.items if isinstance(i.value, Chain)] == [
        "city",
        "city → by",
    ]
