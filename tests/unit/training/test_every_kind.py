"""Every kind of model is trained on the device and in the precision that are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from lodestar.engine.cli.train import train_command
from lodestar.models.language.lora import ModelAndTokenizer, load_language_model
from lodestar.models.reg_path import writing as path_writing
from lodestar.models.training.kind import KINDS, Precision, TrainingOptions, load_kind
from lodestar.models.training.trainer import TrainingCallbacks
from torch import nn

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.every_kind import lesson, teach
from tests.made.trainings import Encoding, inputs_of

FEW = TrainingOptions(epochs=1, learning_rate=1e-3, head_learning_rate=1e-2)
FITTED = {"reader"}
"""Kinds that are fitted in one step, in double precision on the processor."""


@pytest.mark.parametrize("name", ["gril", "reg-entity", "reg-path", "reg-triple"])
def test_a_phase_is_another_with_other_options_but_those_of_its_length(name: str, tmp_path: Path) -> None:
    kind, given = load_kind(name), lesson(name)

    def phases(config: Any) -> list[str]:
        inputs = inputs_of(given.train, given.dev, Encoding(LetterEncoder().encode), given.beside)
        return [json.dumps(phase.depends_on, sort_keys=True) for phase in kind.train(config, inputs).phases]

    config = given.config(FEW, tmp_path)
    before, other = phases(config), phases(replace(config, batch_size=config.batch_size + 1))
    assert all(one != two for one, two in zip(before, other, strict=True))
    assert phases(replace(config, training=replace(FEW, epochs=77)))[0] == before[0]


@pytest.mark.parametrize("digest", ["7" * 64, None])
def test_a_checkpoint_says_which_weights_its_encoder_had(
    digest: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Encoding, "weights_digest", digest)
    assert teach(lesson("reg-triple"), tmp_path / "triple", FEW).encoder_digest == (digest or "")


@pytest.fixture
def computed() -> Iterator[set[torch.dtype]]:
    """The types of what linear layers give in training."""
    found: set[torch.dtype] = set()

    def note(module: nn.Module, _inputs: Any, output: Any) -> None:
        if module.training and isinstance(module, nn.Linear):
            found.add(output.dtype)

    handle = nn.modules.module.register_module_forward_hook(note)
    yield found
    handle.remove()


@pytest.mark.parametrize("name", sorted(KINDS.keys() - FITTED))
@pytest.mark.parametrize(("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_every_network_computes_in_the_precision(
    name: str, precision: Precision, dtype: torch.dtype, computed: set[torch.dtype], tmp_path: Path
) -> None:
    of_phases: dict[str, set[torch.dtype]] = {}

    def step(phase: str, *_: object) -> None:
        of_phases.setdefault(phase, set()).update(computed)
        computed.clear()

    description = teach(
        lesson(name), tmp_path / name, replace(FEW, precision=precision), watcher=TrainingCallbacks(step=step)
    )
    assert of_phases.keys() == description.figures.keys()
    for phase, types in of_phases.items():
        assert dtype in types, (phase, types)
        if precision == "fp32":
            assert types == {torch.float32}, phase
    written = json.loads((tmp_path / name / f"{name}.json").read_text(encoding="utf-8"))
    assert written["files"]


@pytest.mark.parametrize("name", sorted(KINDS.keys() - FITTED))
def test_every_network_is_on_the_device(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`meta` is a device without memory that every machine has: what stays on the processor is told apart."""
    given = lesson(name)
    inputs = replace(inputs_of(given.train, given.dev, Encoding(LetterEncoder().encode), given.beside), device="meta")
    training = given.kind.train(given.config(FEW, tmp_path / "starts-from"), inputs)
    if name == "reg-path":
        asked: list[str] = []

        def load(model: str, *, device: str) -> ModelAndTokenizer:
            asked.append(device)
            return load_language_model(model)

        monkeypatch.setattr(path_writing, "load_language_model", load)
        training.phases[0].objective()
        assert asked == ["meta"]
        return
    for phase in [phase for phase in training.phases if phase.part not in ("cross", "reader")]:  # these need the first
        objective = phase.objective()
        assert {parameter.device.type for parameter in objective.network.parameters()} == {"meta"}, phase.name


def test_a_device_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    from lodestar.engine.errors import UsageError

    arguments = ["--dataset", "t", "--dev", "d", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(
        train_command("reg-triple"), arguments, env={"LODESTAR_DEVICE": "cuda", "LODESTAR_HOME": str(tmp_path)}
    )
    assert isinstance(ran.exception, UsageError)
    assert "there is no device cuda" in str(ran.exception)
    assert not (tmp_path / "out").exists()
