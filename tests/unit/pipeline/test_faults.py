"""What cannot be asked: alone it is an answer without entities, in a batch no other question is lost with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.api import find_fault
from lodestar.engine.errors import EntityNotFoundError, LodestarError, UsageError
from lodestar.engine.values import Question

from tests.fakes.memory_engine import open_engine

GOOD = "What is the capital of Peru?"


BAD: dict[str | Question, type[LodestarError]] = {
    "": UsageError,
    "x" * 10_001: UsageError,
    "xyzzy?": EntityNotFoundError,
    Question("What is it?", ("Atlantis",)): EntityNotFoundError,
}


def test_a_question_without_a_known_entity_is_answered_with_a_reason(tmp_path: Path) -> None:
    with open_engine(tmp_path, "similarity") as engine:
        answer = engine.ask("xyzzy?")
        assert (answer.found, answer.reason) == (False, "nothing linked")
        assert "no known entity in the question" in answer.text
        assert engine.retrieve("xyzzy?").note.startswith("no known entity")
        with pytest.raises(UsageError, match="the question is empty"):
            engine.ask("")


def test_a_batch_says_the_fault_of_each_question(tmp_path: Path) -> None:
    with open_engine(tmp_path, "similarity") as engine:
        first, *others, last = engine.ask_batch([GOOD, *BAD, GOOD])
        for (bad, error), other in zip(BAD.items(), others, strict=True):
            assert type(find_fault(other.evidence)) is error, bad
    assert find_fault(first.evidence) is None
    assert (first.text, last.text) == ("Lima", "Lima")
