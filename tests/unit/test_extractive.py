from __future__ import annotations

import math

import pytest
from lodestar.engine.answering.extractive import ExtractiveAnswerer
from lodestar.engine.values import (
    Entity,
    Path,
    Question,
    RelationPath,
    Retrieval,
    RetrievedPath,
    Scored,
    Step,
    Triple,
)

PERU = Entity("p", "Peru")
LIMA, CUSCO, SOL = Entity("l", "Lima"), Entity("c", "Cusco"), Entity("s", "Sol")
CERTAIN = ExtractiveAnswerer(slope=0.0, intercept=50.0, temperature=1.0)


def path(relation: str, *ends: Entity, score: float, meeting: tuple[Entity, ...] = ()) -> Scored[RetrievedPath]:
    instances = tuple(Path((Triple(PERU, relation, end),), (False,)) for end in ends)
    return Scored(RetrievedPath(PERU, RelationPath((Step(relation),)), instances, ends, meeting=meeting), score)


def retrieval(*paths: Scored[RetrievedPath], note: str = "") -> Retrieval:
    return Retrieval(Question("?"), (), paths, note=note)


def test_answers_are_the_ends_of_the_best_path_with_their_evidence() -> None:
    found = CERTAIN.answer(
        retrieval(path("city", LIMA, CUSCO, score=1.0), path("capital", LIMA, score=0.0), path("money", SOL, score=0.0))
    )
    assert [(e.name, e.evidence) for e in found.entities] == [("Lima", (0, 1)), ("Cusco", (0,))]
    total = 1 + 2 * math.exp(-1)
    assert [e.confidence for e in found.entities] == pytest.approx([(1 + math.exp(-1)) / total, 1 / total])
    assert found.text == "Lima, Cusco"


def test_where_two_topics_meet_only_the_meeting_is_answered() -> None:
    found = CERTAIN.answer(retrieval(path("city", LIMA, CUSCO, score=1.0, meeting=(CUSCO,))))
    assert [e.name for e in found.entities] == ["Cusco"]


def test_confidence_is_calibrated_by_the_best_score() -> None:
    found = ExtractiveAnswerer(slope=2.0, intercept=-1.0).answer(retrieval(path("city", LIMA, score=0.9)))
    assert found.entities[0].confidence == pytest.approx(1 / (1 + math.exp(-0.8)))


@pytest.mark.parametrize(
    ("paths", "note", "reason"),
    [
        ((), "no known entity in the question", "no known entity"),
        ((), "", "no path leads on"),
        ((path("city", LIMA, score=-1.0),), "", "no path fits"),
    ],
)
def test_no_answer_says_why(paths: tuple[Scored[RetrievedPath], ...], note: str, reason: str) -> None:
    found = ExtractiveAnswerer().answer(retrieval(*paths, note=note))
    assert (found.found, found.entities) == (False, ())
    assert found.text.startswith(f"no answer found: {reason}")


def test_many_answers_are_named_up_to_a_limit() -> None:
    ends = [Entity(str(i), f"city {i:02}") for i in range(30)]
    found = CERTAIN.answer(retrieval(path("city", *ends, score=1.0)))
    assert len(found.entities) == 30
    assert found.text.endswith("city 09 and 20 more")
