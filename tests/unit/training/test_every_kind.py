"""Every kind of model is trained on the device and in the precision that are asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lodestar.engine.cli.train import train_command
from lodestar.engine.errors import UsageError
from lodestar.models.causal_lm import ModelAndTokenizer, load_language_model
from lodestar.models.gril import GrilConfig, GrowOptions, JointOptions
from lodestar.models.kinds import KINDS, LoraOptions, TrainingOptions, load_kind
from lodestar.models.mined_files import MinedFile
from lodestar.models.reg import EntityConfig, PathConfig, TripleConfig, paths
from lodestar.models.star import StarConfig
from lodestar.models.training import Objective, TrainingFolder

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.mined_examples import MINING, questions, tiny_encoder
from tests.made.reg_graphs import question_graphs
from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.trainings import Encoding, StoppedError, train_sets
from tests.unit.reg.test_reg_paths import VOCABULARY, pool

FEW = TrainingOptions(epochs=1, learning_rate=1e-3, head_learning_rate=1e-2)
CONFIGS: dict[str, Callable[[Path], Any]] = {
    "star": lambda at: StarConfig(encoder=str(tiny_encoder(at)), mix=0.5, dual_training=FEW, cross_training=FEW),
    "reg-triple": lambda _: TripleConfig(hidden=8, batch_size=4, training=FEW),
    "reg-entity": lambda _: EntityConfig(hidden=8, batch_size=4, training=FEW),
    "reg-path": lambda at: PathConfig(
        str(write_tiny_causal_lm(at, num_layers=1)), LoraOptions(rank=2), 3, training=FEW
    ),
    "gril": lambda at: GrilConfig(
        hidden=8,
        batch_size=4,
        grow=GrowOptions(num_layers=2),
        training=FEW,
        hop_training=FEW,
        joint=JointOptions(reader=str(tiny_encoder(at)), inner=12, max_tokens=120),
        joint_training=FEW,
    ),
}
FITTED = {"reader"}
"""Kinds that are fitted in one step, in double precision on the processor."""


def teach(name: str, folder: Path, **more: Any) -> Any:
    """Train a kind on a few questions; return the description of the checkpoint."""
    kind, starts_from = load_kind(name), folder.with_name("starts-from")
    starts_from.mkdir()
    sets: list[Any] = [question_graphs(0, 9), question_graphs(9, 12)]
    if kind.learns_from == "paths":
        sets = [MinedFile(MINING, tuple(questions(*span)), str(span[0]) * 64) for span in ((0, 3), (3, 5))]
    elif kind.learns_from == "pools":
        sets = [pool(0, 6), pool(6, 9)]
    beside = VOCABULARY if kind.learns_from == "pools" else ()
    encode = LetterEncoder().encode
    return train_sets(
        kind, CONFIGS[name](starts_from), sets[:1], sets[1:], folder, encode=encode, beside=beside, **more
    )


@pytest.mark.parametrize("digest", ["7" * 64, None])
def test_a_checkpoint_says_which_weights_its_encoder_had(
    digest: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Encoding, "weights_digest", digest)
    assert teach("reg-triple", tmp_path / "triple").encoder_digest == (digest or "")


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
        teach(name, tmp_path / name, device="meta")
    (found,) = devices.values()
    assert found == {"meta"} or (name, asked) == ("reg-path", ["meta"])


def test_a_device_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    arguments = ["--dataset", "t", "--dev", "d", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(
        train_command, ["reg-triple", *arguments], env={"LODESTAR_DEVICE": "cuda", "LODESTAR_HOME": str(tmp_path)}
    )
    assert isinstance(ran.exception, UsageError)
    assert "there is no device cuda" in str(ran.exception)
    assert not (tmp_path / "out").exists()
