"""A question alone and one of a batch fail in the same way: the same error, and no other question is lost."""

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


def test_a_question_alone_raises_what_one_of_a_batch_has(tmp_path: Path) -> None:
    with open_engine(tmp_path, "similarity") as engine:
        first, *others, last = engine.ask_batch([GOOD, *BAD, GOOD])
        for (bad, error), other in zip(BAD.items(), others, strict=True):
            fault = find_fault(other.evidence)
            with pytest.raises(error) as raised:
                engine.ask(bad)
            assert type(fault) is error
            assert (str(fault), fault.exit_code) == (str(raised.value), raised.value.exit_code)
    assert find_fault(first.evidence) is None
    assert (first.text, last.text) == ("Lima", "Lima")
