"""Every kind of model is trained on the device and in the precision that are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lodestar.engine.cli.train import command
from lodestar.engine.errors import UsageError
from lodestar.models.causal_lm import ModelAndTokenizer, load_language_model
from lodestar.models.kinds import KINDS, TrainingOptions
from lodestar.models.reg import paths
from lodestar.models.training import Objective, TrainingFolder

from tests.made.every_kind import lesson, teach
from tests.made.trainings import Encoding, StoppedError

FEW = TrainingOptions(epochs=1, learning_rate=1e-3, head_learning_rate=1e-2)
FITTED = {"reader"}
"""Kinds that are fitted in one step, in double precision on the processor."""


@pytest.mark.parametrize("digest", ["7" * 64, None])
def test_a_checkpoint_says_which_weights_its_encoder_had(
    digest: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Encoding, "weights_digest", digest)
    assert teach(lesson("reg-triple"), tmp_path / "triple", FEW).encoder_digest == (digest or "")


@pytest.mark.parametrize("name", sorted(KINDS.keys() - FITTED))
def test_every_network_is_on_the_device(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`meta` is a device without memory that every machine has: what stays on the processor is told apart."""
    devices: dict[str, set[str]] = {}

    def note(_out: TrainingFolder, network: str, _part: str, objective: Objective[Any, Any], _depends: Any) -> None:
        devices[network] = {parameter.device.type for parameter in objective.network.parameters()}
        raise StoppedError

    asked: list[str] = []

    def load(model: str, *, device: str) -> ModelAndTokenizer:
        asked.append(device)
        return load_language_model(model)

    monkeypatch.setattr(paths, "load_language_model", load)
    monkeypatch.setattr(TrainingFolder, "train", note)
    with pytest.raises(StoppedError):
        teach(lesson(name), tmp_path / name, FEW, device="meta")
    (found,) = devices.values()
    assert found == {"meta"} or (name, asked) == ("reg-path", ["meta"])


def test_a_device_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    arguments = ["--dataset", "t", "--dev", "d", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(
        command, ["reg-triple", *arguments], env={"LODESTAR_DEVICE": "cuda", "LODESTAR_HOME": str(tmp_path)}
    )
    assert isinstance(ran.exception, UsageError)
    assert "there is no device cuda" in str(ran.exception)
    assert not (tmp_path / "out").exists()
