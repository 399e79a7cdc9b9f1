from __future__ import annotations

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.values import MAX_QUESTION_CHARS, Entity, Path, Question, RelationPath, RelationStep, Triple

PERU, LIMA, SOL = Entity("p", "Peru"), Entity("l", "Lima"), Entity("s", "Sol")
CAPITAL, CURRENCY = Triple(PERU, "capital", LIMA), Triple(PERU, "currency", SOL)


def test_a_path_runs_along_its_triples_in_either_direction() -> None:
    path = Path((CAPITAL, CURRENCY), (True, False))
    assert (path.start, path.end, path.entities) == (LIMA, SOL, (LIMA, PERU, SOL))
    assert str(path) == "Lima ←[capital]— Peru —[currency]→ Sol"


def test_a_path_that_breaks_is_refused() -> None:
    with pytest.raises(ValueError, match="breaks between 'l' and 'p'"):
        Path((CAPITAL, CURRENCY), (False, False))
    with pytest.raises(ValueError, match="at least one"):
        Path((), ())


def test_hops_are_counted_between_named_entities() -> None:
    assert (
        RelationPath((RelationStep("a", to_mediator=True), RelationStep("b"), RelationStep("c", inverse=True))).num_hops
        == 2
    )


def test_empty_and_endless_questions_are_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        Question(" \n ")
    with pytest.raises(UsageError, match=f"at most {MAX_QUESTION_CHARS:,}"):
        Question("x" * 100_000)
    Question("which?", options=("Sol",) * 100)
    with pytest.raises(UsageError, match="the question has 101 options: expected at most 100"):
        Question("which?", options=("Sol",) * 101)
