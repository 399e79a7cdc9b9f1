"""What options of `lodestar train` make of its configuration and of what it learns from, up to the training itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from lodestar.engine.cli.main import main
from lodestar.engine.training import running
from lodestar.engine.training.sources import TrainingRequest

from tests.made.mined_examples import mined_file

Train = Callable[..., tuple[Any, Any, TrainingRequest]]


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Return kind, configuration and request of the training that `lodestar train` would run."""
    train, dev = mined_file(tmp_path / "train.jsonl", 0, 6), mined_file(tmp_path / "dev.jsonl", 8, 12)

    def call(kind: str, *options: str) -> tuple[Any, Any, TrainingRequest]:
        found: list[tuple[Any, Any, TrainingRequest]] = []

        def take(kind: Any, config: Any, request: TrainingRequest, _watching: object) -> SimpleNamespace:
            found.append((kind, config, request))
            return SimpleNamespace(figures={}, seconds={})

        monkeypatch.setattr(running, "train_kind", take)
        files = ["--dataset", str(train), "--dev", str(dev), "--out", str(tmp_path / "out")]
        ran = CliRunner().invoke(main, ["train", kind, *files, *options])
        if ran.exception:
            raise ran.exception
        return found[0]

    return call


def config(trained: Train, kind: str, *options: str) -> Any:
    return trained(kind, *options)[1]


def test_a_preset_is_where_the_configuration_starts(trained: Train) -> None:
    assert (config(trained, "star").mix, config(trained, "star", "--preset", "paper").mix) == (None, 1.0)
    assert config(trained, "star", "--preset", "paper", "--set", "mix=0.5").mix == 0.5


def test_what_a_reader_does_and_learns_from(trained: Train) -> None:
    reader = ("--reader", "all-MiniLM-L6-v2")
    assert [config(trained, "gril", *reader, *more).joint.reads for more in ((), ("--reads", "choosing"))] == [
        "pointing",
        "choosing",
    ]
    chooser = (*reader, "--reads", "choosing")
    closed, opened = config(trained, "gril", *chooser), config(trained, "gril", *chooser, "--open-domain")
    assert [each.joint.graph_supervision for each in (closed, opened)] == [True, False]
    assert [each.open_domain for each in (closed, opened)] == [False, True]


def test_a_topic_may_be_an_answer_of_what_is_mined(trained: Train) -> None:
    assert [trained("star", *flag)[2].options["return_to_topic"] for flag in ((), ("--return-to-topic",))] == [
        False,
        True,
    ]
