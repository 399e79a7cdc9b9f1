"""A checkpoint that is meant for any graph answers on one that it has never seen, and `doctor` says what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar import Engine
from lodestar.engine.doctor import examine
from lodestar.engine.errors import CheckpointError
from lodestar.engine.settings import Settings

from tests.made.tiny_checkpoint import write_tiny_checkpoint

QUESTION = "What is the capital of Peru?"


@pytest.mark.usefixtures("engine")
def test_it_serves_a_graph_that_it_has_never_seen(settings: Settings, tmp_path: Path) -> None:
    general = str(write_tiny_checkpoint(tmp_path / "general", any_graph=True))
    with Engine(settings, recipe="star", options={"star.checkpoint": general}) as engine:
        assert engine.retrieve(QUESTION).items
    of_another = str(write_tiny_checkpoint(tmp_path / "another"))
    with (
        Engine(settings, recipe="star", options={"star.checkpoint": of_another}) as engine,
        pytest.raises(CheckpointError, match="was trained on another graph"),
    ):
        engine.retrieve(QUESTION)


@pytest.mark.usefixtures("engine")
def test_doctor_says_what_a_checkpoint_is_for(settings: Settings, tmp_path: Path) -> None:
    def found(folder: Path) -> tuple[str, str]:
        (finding,) = [each for each in examine(settings, str(folder)) if each.part == "checkpoint"]
        return finding.level, finding.found

    level, said = found(write_tiny_checkpoint(tmp_path / "general", any_graph=True))
    assert level == "ok"
    assert "meant for any graph, but not trained on this one" in said
    assert found(write_tiny_checkpoint(tmp_path / "another")) == (
        "missing",
        "star, 8 files as written, trained on 1 graph (tiny questions), but not on this one",
    )
    assert found(tmp_path / "nothing")[0] == "missing"
