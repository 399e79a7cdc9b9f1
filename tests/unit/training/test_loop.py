"""The training loop: continued after any epoch it comes to the same weights, stops in time, refuses what is another's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lodestar.engine.errors import UsageError
from lodestar.engine.training import check_disjoint_sets
from lodestar.models.kinds import TrainingOptions
from lodestar.models.mined_files import MinedFile
from lodestar.models.training import (
    Figures,
    Objective,
    TrainingStateError,
    compute_learning_rate_share,
    train_objective,
)
from torch import Tensor, nn

from tests.made.mined_examples import MINING, questions
from tests.made.trainings import StoppedError


class Line(nn.Module):
    """y = encoder(x) · head, with dropout, so that chance has a part in it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.encoder = nn.Linear(4, 4)
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 1))

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.encoder(inputs))
        return outputs


OPTIONS = TrainingOptions(epochs=3, learning_rate=0.01, head_learning_rate=0.05, patience=9)


class LineObjective(Objective[Line, int]):
    """Fits a line to ten examples; `scripted` figures are what each epoch is said to be worth."""

    def __init__(
        self, options: TrainingOptions = OPTIONS, scripted: Sequence[float] = (), spoiled_at: int = -1
    ) -> None:
        super().__init__(Line(), range(10), options, 2)
        self.scripted = scripted
        self.spoiled_at = spoiled_at
        self.begun: list[int] = []
        self.scale = torch.zeros(1)

    def batches(self, epoch: int) -> list[list[int]]:
        self.begun.append(epoch)
        self.scale = self.network.encoder.weight.detach().mean()[None].clone()  # as hard negatives, of the network
        return super().batches(epoch)

    def loss(self, batch: Sequence[int]) -> Tensor:
        inputs = torch.sin(torch.tensor(batch, dtype=torch.float32)[:, None] + torch.arange(4.0)) + self.scale
        loss: Tensor = (self.network(inputs)[:, 0] - inputs.sum(dim=1)).square().mean()
        return loss * math.nan if self.epoch == self.spoiled_at else loss

    def evaluate(self) -> Figures:
        assert not self.network.training
        if self.scripted:
            return {"selection_metric": self.scripted[self.epoch]}
        return {"selection_metric": -float(self.loss(range(10)).detach())}


def stop(epoch: int, step: int) -> Callable[[int, int, int, float], None]:
    def report(now_epoch: int, done: int, _total: int, _loss: float) -> None:
        if (now_epoch, done) == (epoch, step):
            raise StoppedError

    return report


def weights(network: nn.Module) -> dict[str, list[float]]:
    return {name: tensor.flatten().tolist() for name, tensor in network.state_dict().items()}


def test_continued_after_any_stop_it_comes_to_the_same_weights(tmp_path: Path) -> None:
    undisturbed = LineObjective()
    whole = train_objective(undisturbed, tmp_path / "undisturbed", {})
    for epoch, step in ((0, 1), (0, 5), (1, 2), (2, 4)):
        path = tmp_path / f"{epoch}-{step}"
        with pytest.raises(StoppedError):
            train_objective(LineObjective(), path, {}, stop(epoch, step))
        again = LineObjective()
        found = train_objective(again, path, {})
        assert weights(again.network) == weights(undisturbed.network), (epoch, step)
        assert (found.history, found.best_epoch) == (whole.history, whole.best_epoch)
        assert again.begun == list(range(epoch, 3))


def test_the_weights_are_those_of_the_best_epoch(tmp_path: Path) -> None:
    best, short = LineObjective(scripted=[0.5, 0.9, 0.9]), LineObjective(scripted=[0.5, 0.9, 0.9])
    assert train_objective(best, tmp_path / "a", {}).best_epoch == 1
    with pytest.raises(StoppedError):
        train_objective(short, tmp_path / "b", {}, stop(2, 1))
    assert weights(train_again(tmp_path / "b")) != weights(short.network)
    assert weights(best.network) == weights(train_again(tmp_path / "a"))


def train_again(path: Path) -> nn.Module:
    """Return the network of what is stored."""
    objective = LineObjective(scripted=[0.5, 0.9, 0.9])
    train_objective(objective, path, {})
    return objective.network


@pytest.mark.parametrize(
    ("figures", "patience", "num_epochs"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 1, 6),
        ([0.5, 0.4, 0.3, 0.9, 0.9, 0.9], 2, 3),
        ([0.5, 0.5, 0.5, 0.9, 0.9, 0.9], 2, 3),
        ([0.5, 0.4, 0.6, 0.5, 0.5, 0.9], 2, 5),
        ([0.5, 0.4, 0.4, 0.4, 0.4, 0.4], 9, 6),
    ],
)
def test_it_stops_after_epochs_without_a_better_figure(
    figures: list[float], patience: int, num_epochs: int, tmp_path: Path
) -> None:
    objective = LineObjective(replace(OPTIONS, epochs=6, patience=patience), figures)
    assert len(train_objective(objective, tmp_path / "state", {}).history) == num_epochs


def test_a_loss_that_is_no_number_ends_it(tmp_path: Path) -> None:
    with pytest.raises(FloatingPointError, match="epoch 2: the loss is not finite: lower the learning rate"):
        train_objective(LineObjective(spoiled_at=1), tmp_path / "state", {})
    again = LineObjective()
    train_objective(again, tmp_path / "state", {})
    assert again.begun == [1, 2]


def test_the_rates_rise_and_fall() -> None:
    expected = [0, 0.5, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0]
    assert [round(compute_learning_rate_share(tenth / 10, 0.2), 6) for tenth in range(11)] == expected
    assert [round(compute_learning_rate_share(tenth / 10, 0.0), 6) for tenth in range(11)] == [
        round(1 - tenth / 10, 6) for tenth in range(11)
    ]


@pytest.mark.parametrize("damage", ["cut", "empty", "no safetensors", "no description"])
def test_a_damaged_state_is_refused_in_one_line(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    train_objective(LineObjective(), path, {})
    content = path.read_bytes()
    damaged = {
        "cut": content[:-5],
        "empty": b"",
        "no safetensors": b"PK\x03\x04" + content,
        "no description": content.replace(b"training", b"trainiug"),
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(TrainingStateError, match=r"is damaged .*: delete it to begin anew") as caught:
        train_objective(LineObjective(), path, {})
    assert "\n" not in str(caught.value)


def test_questions_in_common_are_refused_by_words_and_topic() -> None:
    def of(first: int, last: int) -> MinedFile:
        return MinedFile(MINING, tuple(questions(first, last)), "")

    check_disjoint_sets([of(0, 3)], [of(3, 6)])
    with pytest.raises(UsageError, match=r"--dev: 2 of its questions .* \(the first is capital-Chile\)"):
        check_disjoint_sets([of(5, 6), of(0, 2)], [of(1, 3)])
