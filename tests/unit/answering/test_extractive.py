from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from lodestar.engine.answering import ExtractiveAnswerer, answer_from_plan
from lodestar.engine.context import StageCost
from lodestar.engine.data_model import AnswerEntity, Chain, Entity, Scored, Topic
from lodestar.engine.evidence import (
    SIMILARITY,
    Answer,
    Calibration,
    Evidence,
    EvidenceTrace,
    Item,
    NoEvidenceExplanation,
    PlanAnswer,
    Unit,
)

from tests.made.evidence import CERTAIN, evidence_of, leads

PERU = Entity("p", "Peru")
LIMA, CUSCO, SOL = Entity("l", "Lima"), Entity("c", "Cusco"), Entity("s", "Sol")


def path(relation: str, *ends: Entity, score: float, targets: tuple[Entity, ...] = ()) -> Scored[Chain]:
    return Scored(leads(relation, *ends, topic=PERU, targets=targets), score)


def answer(evidence: Evidence[Item]) -> Answer:
    plan = evidence.extra_of(PlanAnswer)
    return (
        ExtractiveAnswerer().answer_of(evidence)
        if plan is None
        else answer_from_plan(evidence, plan, ExtractiveAnswerer())
    )


def test_answers_are_the_ends_of_the_best_path_with_their_evidence() -> None:
    paths = (path("city", LIMA, CUSCO, score=1.0), path("capital", LIMA, score=0.0), path("money", SOL, score=0.0))
    found = answer(evidence_of(*paths, calibration=CERTAIN))
    assert [(e.name, e.evidence) for e in found.entities] == [("Lima", (0, 1)), ("Cusco", (0,))]
    total = 1 + 2 * math.exp(-1)
    assert [e.confidence for e in found.entities] == pytest.approx([(1 + math.exp(-1)) / total, 1 / total])
    assert found.text == "Lima, Cusco"


@pytest.mark.parametrize(
    ("name", "score", "relation", "right"),
    [
        ("Lima", 0.5, "country", {"Peru", "United States"}),
        ("Lima Bean", 0.5, "country", {"Peru"}),
        ("Lima", 0.1, "country", {"Peru"}),  # hardly anybody means it
        ("Lima", 0.5, "state", {"Peru"}),  # it has no country
    ],
)
def test_what_a_path_gives_from_another_entity_of_the_name_belongs_to_the_answer(
    name: str, score: float, relation: str, right: set[str]
) -> None:
    other = Entity("o", "Lima")
    topics = (
        Topic(LIMA, matched_name="Lima", score=0.8, span=(4, 8)),
        Topic(other, matched_name=name, score=score, span=(4, 8)),
    )
    chains = (leads("country", PERU, topic=LIMA), leads(relation, Entity("u", "United States"), topic=other))
    found = answer(evidence_of(*(Scored(chain, 1.0) for chain in chains), calibration=CERTAIN, topics=topics))
    assert set(found.names) == right
    assert bool(found.why) == (len(right) > 1)


def test_values_that_differ_in_their_language_alone_are_named_once() -> None:
    ones = [Entity(f'"one"@{language}', "one", is_literal=True) for language in ("en", "fr", "de")]
    found = answer(evidence_of(path("word", *ones, Entity('"two"@en', "two", is_literal=True), score=1.0)))
    assert (found.text, len(found.entities)) == ("one, two", 4)


@pytest.mark.parametrize(("unit", "less"), [("similarity", 0.1), ("logit", 1.0), ("probability", 1.0)])
def test_paths_are_weighed_by_the_temperature_of_their_scores(unit: Unit, less: float) -> None:
    """A path whose score is less by one temperature weighs 1 / e as much."""
    paths = (path("city", LIMA, CUSCO, score=1.0), path("capital", LIMA, score=1.0 - less))
    found = answer(evidence_of(*paths, calibration=Calibration(unit, 0.0, 50.0)))
    lima, cusco = (each.confidence for each in found.entities)
    assert cusco == pytest.approx(1 / (1 + math.exp(-1)))
    assert lima == pytest.approx(1)


@pytest.mark.parametrize(
    ("paths", "note", "reason", "sure"),
    [
        ((), "no known entity in the question", "no known entity", 0.0),
        ((), "", "no path to an answer was found", 0.0),
        ((path("city", LIMA, score=-1.0),), "", "the best path is right with a probability of 0.00, less than 0.20", SIMILARITY.probability(-1.0)),
    ],
)  # fmt: skip
def test_no_answer_says_why(paths: tuple[Scored[Chain], ...], note: str, reason: str, sure: float) -> None:
    found = answer(evidence_of(*paths, calibration=SIMILARITY, absence=NoEvidenceExplanation(note) if note else None))
    assert (found.found, found.entities) == (False, ())
    assert found.text.startswith(f"no answer found: {reason}")
    assert found.confidence == pytest.approx(sure, abs=1e-4)


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


def of_plan(**fields: Any) -> Answer:
    """The answer to a question that a plan answered so."""
    given = {"plan": {"do": "count"}, "how": "the number of rivers"} | fields
    return answer(evidence_of(path("river", LIMA, score=0.0), extras=(PlanAnswer(**given),)))


FOUND = tuple((Entity(f"e{n}", f"End {n}"), 1 / 3) for n in range(12))


def test_a_plan_that_counts_is_answered_by_a_number() -> None:
    found = of_plan(number=12_000, says="12,000", total=12_000, found=FOUND, missing=2)
    assert (found.number, found.entities, found.yes) == (12_000, (), None)
    assert (found.text, found.why) == ("12,000", ("the number of rivers; 2 without a value",))


@pytest.mark.parametrize(
    ("probability", "begins", "unsure"),
    [
        (0.19, "no answer found: no plan fits the question", False),
        (0.2, "unsure: perhaps End 0", True),
        (0.5, "End 0", False),
    ],
)
def test_the_bounds_hold_for_plans(probability: float, begins: str, unsure: bool) -> None:
    found = of_plan(found=FOUND[:1], total=1, probability=probability)
    assert found.text.startswith(begins)
    assert (found.confidence, found.unsure) == (probability, unsure)


def test_an_answer_is_plain_data_that_rests_on_items_by_their_ranks() -> None:
    found = (path("city", LIMA, score=1 / 3), path("capital", LIMA, score=-math.inf))
    paths = [replace(each, group=group) for group, each in enumerate(found)]
    costs = EvidenceTrace((StageCost("hop 1", 0.123456, 2), StageCost("answer", 1.0, 1)))
    answer = Answer(
        evidence_of(
            *paths, calibration=Calibration("logit", 1.0, 0.0), absence=NoEvidenceExplanation("a note"), trace=costs
        ),
        (AnswerEntity("Lima", "l", 2 / 3, "both", (0, 1)), AnswerEntity("Rome", None, None, "model", ())),
        "Lima and Rome",
        "llm",
        confidence=1 / 7,
        unsure=True,
        why=("it was said",),
    )
    data = answer.to_dict()
    assert data["answers"] == [
        {"name": "Lima", "id": "l", "confidence": 0.666667, "origin": "both", "evidence": [1, 2]},
        {"name": "Rome", "id": None, "confidence": None, "origin": "model", "evidence": []},
    ]
    said = ("answer", "kind", "unsure", "confidence", "answerer", "why", "note")
    assert {key: data[key] for key in said} == dict(
        zip(said, ("Lima and Rome", "entities", True, 0.142857, "llm", ["it was said"], "a note"), strict=True)
    )
    assert (data["seconds"], data["round_trips"]) == (1.1235, 3)
    keys = ("rank", "score", "probability", "group", "relation_path")
    assert [[dict(each)[key] for key in keys] for each in data["items"]] == [
        [1, 0.333333, 0.58257, 0, "city"],
        [2, None, 0.0, 1, "capital"],
    ]
