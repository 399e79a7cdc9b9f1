"""A training of any model: phases in their order, what is saved, what is taken up, what is never replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from lodestar.models.training.checkpoint import TrainingStateError, read_weights, write_weights
from lodestar.models.training.kind import (
    PATHS,
    Figures,
    Inputs,
    ModelDescription,
    ModelKind,
    Outcome,
    ParameterGroup,
    Phase,
    QuestionKey,
    Training,
    TrainingDataRecord,
    TrainingOptions,
    select_trained_weights,
)
from lodestar.models.training.trainer import TrainingCallbacks, TrainingResult, delete_training
from torch import Tensor, nn

from tests.made.trainings import train_sets

OPTIONS = TrainingOptions(epochs=2, patience=9, save_every_s=0.0)
LEARNED_FROM = TrainingDataRecord("questions", "1" * 64, "2" * 64, "3" * 64, num_questions=4, max_hop=2)


class Adapted(nn.Module):
    """y = (W + BA) x: W was trained by others and is frozen, A and B are a LoRA's deltas."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(4, 4, bias=False).requires_grad_(False)
        self.down = nn.Linear(4, 2, bias=False)
        self.up = nn.Linear(2, 4, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.base(inputs) + self.up(torch.dropout(self.down(inputs), 0.5, self.training))
        return outputs


class AdaptedObjective:
    steps_per_epoch = 3

    def __init__(self) -> None:
        self.network = Adapted()
        self.epoch = 0

    def groups(self) -> list[ParameterGroup]:
        network = self.network
        return [ParameterGroup([network.down.weight], 0.1), ParameterGroup([network.up.weight], 0.01)]

    def get_weights(self) -> dict[str, Tensor]:
        return select_trained_weights(self.network)

    def begin(self, epoch: int) -> None:
        self.epoch = epoch

    def state(self) -> dict[str, Tensor]:
        return {}

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        self.epoch = epoch

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        inputs = torch.sin(torch.arange(8.0).reshape(2, 4) * (1 + step + 10 * self.epoch))
        loss: Tensor = (network(inputs) - inputs.flip(0)).square().mean()
        return loss

    def evaluate(self) -> Figures:
        return {"selection_metric": -float(self.loss(self.network, 0, (0, 1)).detach())}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptedDescription(ModelDescription):
    kind: ClassVar[str] = "adapted"
    parts: ClassVar[tuple[str, ...]] = ("first", "second")


@dataclass(frozen=True, slots=True)
class AdaptedConfig:
    seed: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Learned:
    """A set of questions that nothing is read of."""

    trained_on: TrainingDataRecord = LEARNED_FROM
    sha256: str = "x"
    question_keys: tuple[QuestionKey, ...] = ()


class Adaptation:
    """A training of two such networks."""

    def __init__(self, *, seed: int = 0) -> None:
        self.begun: list[str] = []
        self.objectives: dict[str, AdaptedObjective] = {}
        self.config = AdaptedConfig(seed)
        self.learned = Learned()

    def run(self, folder: Path, watcher: TrainingCallbacks | None = None) -> AdaptedDescription:
        kind = ModelKind(
            name="adapted",
            title="Adapted",
            summary="Train two LoRAs.",
            learns_from=PATHS,
            config=AdaptedConfig,
            description=AdaptedDescription,
            train=self._train,
            open=lambda _folder, _opening: None,
            about=lambda _: (),
            figures=(),
        )
        return train_sets(kind, self.config, [self.learned], [], folder, watcher=watcher)

    def _train(self, config: AdaptedConfig, _inputs: Inputs[Learned]) -> Training:
        options = replace(OPTIONS, seed=config.seed)
        phases = [Phase(part, part, options, {}, partial(self._begin, part)) for part in ("first", "second")]
        return Training(phases, self._outcome)

    def _begin(self, part: str) -> AdaptedObjective:
        self.begun.append(part)
        self.objectives[part] = AdaptedObjective()
        return self.objectives[part]

    def _outcome(self, _trained: Mapping[str, TrainingResult]) -> Outcome:
        parts = {name: partial(write_weights, each.get_weights()) for name, each in self.objectives.items()}
        return Outcome(parts, (1.0, 0.0))


class StoppedError(Exception):
    pass


def stop_at(phase: str, epoch: int, step: int) -> TrainingCallbacks:
    def report(now: str, now_epoch: int, done: int, _total: int, _loss: float) -> None:
        if (now, now_epoch, done) == (phase, epoch, step):
            raise StoppedError

    return TrainingCallbacks(step=report)


def test_phases_run_in_their_order_each_with_its_seed(tmp_path: Path) -> None:
    one, other = Adaptation(), Adaptation(seed=1)
    one.run(tmp_path / "one")
    other.run(tmp_path / "other")
    assert one.begun == ["first", "second"]
    first, second = (read_weights(tmp_path / "one" / part) for part in ("first", "second"))
    assert {name: each.tolist() for name, each in first.items()} == {
        name: each.tolist() for name, each in second.items()
    }
    assert not torch.equal(first["up.weight"], read_weights(tmp_path / "other" / "first")["up.weight"])


def test_a_finished_training_is_not_begun_again(tmp_path: Path) -> None:
    found, again = Adaptation().run(tmp_path), Adaptation()
    assert again.run(tmp_path) == found
    assert again.begun == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "adapted.json", "first", "second"]


def test_another_training_is_refused_where_one_is_finished_until_it_begins_anew(tmp_path: Path) -> None:
    Adaptation().run(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(
        TrainingStateError, match=r"adapted.json is the checkpoint of another training \(config differ\): name another"
    ):
        Adaptation(seed=1).run(tmp_path)
    other = Adaptation()
    other.learned = Learned(replace(LEARNED_FROM, mined_sha256="4" * 64))
    with pytest.raises(TrainingStateError, match=r"another training \(train differ\).* or give --fresh to begin anew"):
        other.run(tmp_path)
    (tmp_path / "adapted.json").write_text("{}", encoding="utf-8")
    with pytest.raises(TrainingStateError, match=r"expected format 2 .*; or name another --out, or give --fresh"):
        Adaptation().run(tmp_path)
    (tmp_path / "adapted.json").write_bytes(before[tmp_path / "adapted.json"])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    delete_training(tmp_path, AdaptedDescription)
    assert list(tmp_path.iterdir()) == []
    other.run(tmp_path)


@pytest.mark.parametrize("name", ["README.md", "first"])
def test_files_that_are_no_checkpoints_are_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "notes").write_text("mine", encoding="utf-8")
    training = Adaptation()
    delete_training(tmp_path, AdaptedDescription)
    with pytest.raises(
        TrainingStateError, match=f"{name} belongs to no checkpoint and would be replaced: name another --out"
    ):
        training.run(tmp_path)
    assert training.begun == []
    assert (tmp_path / name / "notes").read_text(encoding="utf-8") == "mine"


def test_a_training_killed_while_it_wrote_its_checkpoint_is_taken_up(tmp_path: Path) -> None:
    whole = Adaptation().run(tmp_path)
    with pytest.raises(StoppedError):
        Adaptation().run(tmp_path / "again", stop_at("second", 1, 3))
    (tmp_path / "first").rename(tmp_path / "again" / "first")  # moved already, its description not yet
    (tmp_path / "again" / ".checkpoint.new" / "first").mkdir(parents=True)
    assert replace(Adaptation().run(tmp_path / "again"), seconds=whole.seconds) == whole
