"""`lodestar explain`, and --checkpoint of the verbs that search, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar
from tests.made.tiny_checkpoint import write_tiny_checkpoint

pytestmark = pytest.mark.usefixtures("engine")

QUESTION = "Which currency is used in Peru?"


def test_in_the_terminal(lodestar: Lodestar, checkpoint: str) -> None:
    ran = lodestar("explain", QUESTION, "--checkpoint", checkpoint, "--top-k", "2")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == QUESTION
    assert sum("read by its own words: " in line for line in lines) == 2
    assert any("after each stage: " in line for line in lines)
    assert "\x1b" not in ran.out


def test_an_answer_that_names_nothing_of_the_graph_is_shown(lodestar: Lodestar) -> None:
    ran = lodestar("explain", "How many countries are there?")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("How many countries are there?\n")


def test_a_checkpoint_of_another_graph_is_refused_unless_any_will_do(lodestar: Lodestar, tmp_path: Path) -> None:
    other = str(write_tiny_checkpoint(tmp_path / "other"))
    ran = lodestar("ask", QUESTION, "--checkpoint", other)
    assert ran.code == 8
    assert "any_graph=true" in ran.err
    assert lodestar("ask", QUESTION, "--checkpoint", other, "--set", "any_graph=true").code == 0
