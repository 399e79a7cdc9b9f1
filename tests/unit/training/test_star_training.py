"""The training loop: taken up at any step it comes to the same weights, stops in time, and refuses what is another's."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from lodestar.engine.errors import UsageError
from lodestar.engine.training.running import check_disjoint_sets, training_config
from lodestar.models.star.config import KIND, StarConfig
from lodestar.models.star.examples import mark_remaining_paths
from lodestar.models.star.mined import AnswerPath, MinedFile
from lodestar.models.star.objectives import DualObjective, PoolObjective, mix_shortlist_scores
from lodestar.models.star.training import CROSS, star_training
from lodestar.models.training.checkpoint import TrainingState, TrainingStateError, read_state, write_state
from lodestar.models.training.kind import (
    Figures,
    ParameterGroup,
    TrainingOptions,
    encoder_and_heads,
    select_trained_weights,
)
from lodestar.models.training.trainer import (
    TrainingResult,
    _Training,
    fit_calibration,
    train,
)
from safetensors import safe_open
from torch import Tensor, nn

from tests.made.mined_examples import MINING, mined, questions, tiny_encoder
from tests.made.trainings import inputs_of


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


class LineObjective:
    """Fits a line; `scripted` figures are what each epoch is said to be worth."""

    steps_per_epoch = 5

    def __init__(self, scripted: list[float] | None = None, spoiled_at: int = -1) -> None:
        self.network = Line()
        self.scripted = scripted
        self.spoiled_at = spoiled_at
        self.epoch = -1
        self.begun: list[int] = []
        self.scale = torch.zeros(1)

    def groups(self) -> list[ParameterGroup]:
        return encoder_and_heads(self.network, OPTIONS)

    def get_weights(self) -> dict[str, Tensor]:
        return select_trained_weights(self.network)

    def begin(self, epoch: int) -> None:
        self.begun.append(epoch)
        self.epoch = epoch
        self.scale = self.network.encoder.weight.detach().mean()[None].clone()

    def state(self) -> dict[str, Tensor]:
        return {"scale": self.scale}

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        self.epoch, self.scale = epoch, state["scale"]

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        inputs = torch.sin(torch.arange(8.0).reshape(2, 4) * (1 + step + 10 * self.epoch)) + self.scale
        loss: Tensor = (network(inputs)[:, 0] - inputs.sum(dim=1)).square().mean()
        return loss * math.nan if self.epoch == self.spoiled_at else loss

    def evaluate(self) -> Figures:
        assert not self.network.training
        if self.scripted:
            return {"selection_metric": self.scripted[self.epoch]}
        return {"selection_metric": -float(self.loss(self.network, 0, (0, 1)).detach())}


OPTIONS = TrainingOptions(epochs=3, learning_rate=0.01, head_learning_rate=0.05, patience=9, save_every_s=0.0)


class StoppedError(Exception):
    """Stands for a kill: nothing of the process is left but the file."""


def stop_at(epoch: int, step: int) -> Callable[[int, int, int, float], None]:
    def report(now_epoch: int, done: int, _total: int, _loss: float) -> None:
        if (now_epoch, done) == (epoch, step):
            raise StoppedError

    return report


def begin(folder: Path, objective: LineObjective | None = None, **changes: Any) -> _Training:
    return _Training(
        objective or LineObjective(),
        replace(OPTIONS, **changes),
        folder / "state",
        {},
        lambda *_: None,
        lambda *_: None,
    )


def weights(network: nn.Module) -> dict[str, list[float]]:
    return {name: tensor.flatten().tolist() for name, tensor in network.state_dict().items()}


@pytest.mark.parametrize("accumulate", [1, 2])
def test_taken_up_at_any_step_it_comes_to_the_same_weights(accumulate: int, tmp_path: Path) -> None:
    options = replace(OPTIONS, accumulate=accumulate)
    undisturbed = LineObjective()
    whole = train(undisturbed, options, tmp_path / "undisturbed", {})
    for epoch, step in ((0, 1), (0, 5), (1, 2), (1, 3), (2, 4)):
        path = tmp_path / f"{epoch}-{step}"
        with pytest.raises(StoppedError):
            train(LineObjective(), options, path, {}, stop_at(epoch, step))
        again = LineObjective()
        found = train(again, options, path, {})
        assert weights(again.network) == weights(undisturbed.network), (epoch, step)
        assert (found.history, found.best_epoch) == (whole.history, whole.best_epoch)
        if (epoch, step) > (0, accumulate):
            assert 0 not in again.begun  # it did not start over


def test_the_weights_are_those_of_the_best_epoch(tmp_path: Path) -> None:
    scripted = LineObjective([0.5, 0.9, 0.9])
    found = train(scripted, OPTIONS, tmp_path / "a", {})
    assert found.best_epoch == 1
    state = read_state(tmp_path / "a", {})
    assert state
    assert {name: tensor.tolist() for name, tensor in state.best.items()} == {
        name: tensor.tolist() for name, tensor in scripted.network.state_dict().items()
    }
    assert any(not torch.equal(tensor, state.weights[name]) for name, tensor in state.best.items())


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
    options = replace(OPTIONS, epochs=6, patience=patience)
    assert len(train(LineObjective(figures), options, tmp_path / "state", {}).history) == num_epochs


def test_a_loss_that_is_no_number_ends_it(tmp_path: Path) -> None:
    with pytest.raises(FloatingPointError, match="epoch 2: the loss is not finite: lower the learning rate"):
        train(LineObjective(spoiled_at=1), OPTIONS, tmp_path / "state", {})
    state = read_state(tmp_path / "state", {})
    assert state
    assert (state.epoch, state.step) == (1, 0)


@pytest.mark.parametrize(
    ("warmup", "expected"),
    [
        (0.2, [0, 0.5, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0]),
        (0.0, [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0]),
    ],
)
def test_the_rates_rise_and_fall(warmup: float, expected: list[float], tmp_path: Path) -> None:
    rates: list[tuple[float, float]] = []
    begun = begin(tmp_path, warmup=warmup)
    for tenth in range(11):
        begun._update(tenth / 10)
        first, second = begun.optimizer.param_groups
        rates.append((first["lr"] / 0.01, second["lr"] / 0.05))
    assert [round(one, 6) for one, _ in rates] == expected
    assert [one for one, _ in rates] == pytest.approx([other for _, other in rates])


def state(**changes: object) -> TrainingState:
    plain = TrainingState(
        1, 2, {"w": torch.ones(2)}, {"0/step": torch.tensor(3.0)}, {}, {}, [{"selection_metric": 0.5}], 9.5, {}
    )
    return replace(plain, **changes)


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    assert read_state(path, {}) is None
    written = state(scaler={"scale": 1024.0}, objective={"a/b": torch.tensor([[1, 2]])})
    write_state(path, written, {"network": "dual", "epochs": 3, "files": ("a",)})
    found = read_state(path, {"network": "dual", "epochs": 3, "files": ("a",)})
    assert found
    assert (found.epoch, found.step, found.history, found.seconds) == (1, 2, [{"selection_metric": 0.5}], 9.5)
    assert found.scaler == {"scale": 1024.0}
    assert found.objective["a/b"].tolist() == [[1, 2]]
    assert found.weights["w"].tolist() == [1, 1]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with safe_open(path, framework="pt") as file:
        assert json.loads(file.metadata()["training"])["format"] == 1


@pytest.mark.parametrize("damage", ["cut", "empty", "no safetensors", "no description"])
def test_a_damaged_state_is_refused_in_one_line(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    write_state(path, state(), {})
    content = path.read_bytes()
    damaged = {
        "cut": content[:-5],
        "empty": b"",
        "no safetensors": b"PK\x03\x04" + content,
        "no description": content.replace(b"training", b"trainiug"),
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(TrainingStateError, match=r"is damaged .*: give --fresh to begin anew") as caught:
        read_state(path, {})
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[MinedFile, MinedFile, str]:
    folder = tmp_path_factory.mktemp("mined")
    torch.set_num_threads(1)
    return mined(folder, 0, 3), mined(folder, 3, 5), str(tiny_encoder(folder / "encoder"))


def config(encoder: str) -> StarConfig:
    plain = StarConfig(scorer="cross", encoder=encoder, dual=replace(StarConfig().dual, batch_size=3))
    plain = replace(plain, cross=replace(plain.cross, batch_size=3, num_negatives=2))
    return with_training(plain, {"epochs": 2, "save_every_s": 0.0, "patience": 9})


def with_training(config: StarConfig, changes: dict[str, Any]) -> StarConfig:
    return replace(
        config,
        dual_training=replace(config.dual_training, **changes),
        cross_training=replace(config.cross_training, **changes),
    )


def test_questions_in_common_are_refused_by_words_and_topic() -> None:
    def of(first: int, last: int) -> MinedFile:
        return MinedFile(MINING, tuple(questions(first, last)), "")

    check_disjoint_sets([of(0, 3)], [of(3, 6)])
    with pytest.raises(UsageError, match=r"--dev: 2 of its questions .* \(the first is capital-Chile\)"):
        check_disjoint_sets([of(5, 6), of(0, 2)], [of(1, 3)])


def of_each_path() -> MinedFile:
    """A question for each path of a graph, so that whatever path is first is right for one of them."""
    paths = [
        *(("capital",), ("capital", "^capital"), ("capital", "borders"), ("currency_used",), ("borders",)),
        *(("currency_used", "^currency_used"), ("borders", "capital"), ("borders", "borders"), ("treaty → ^signed",)),
    ]
    asked = [
        replace(each, paths=(AnswerPath(0, hops, 1.0, 1.0, 0.9, shortest=True, positive=True),), negatives=())
        for each, hops in zip(questions(3)[::2], paths, strict=True)
    ]
    return MinedFile(MINING, tuple(asked), "6" * 64)


@pytest.mark.parametrize("scorer", ["similarity", "cross"])
def test_probabilities_are_of_what_retrieves_as_if_each_fifth_question_had_no_answer(
    scorer: Literal["similarity", "cross"], data: tuple[MinedFile, MinedFile, str]
) -> None:
    """Each dev question counts four times, and once without the relations that lead to its answers."""
    learned, _, encoder = data
    training = star_training(replace(config(encoder), scorer=scorer), inputs_of([learned], [of_each_path()]))
    torch.manual_seed(0)
    dual = training.phases[0].objective()
    assert isinstance(dual, DualObjective)
    (examples,) = dual.dev
    scored = list(dual.iterate_stop_scores(examples))
    trained = {}
    if scorer == "cross":
        trained[CROSS] = TrainingResult([{"mix": 0.75}], 0, 0.0)
        cross = training.phases[1].objective()
        assert isinstance(cross, PoolObjective)
        scored = [
            (e, mix_shortlist_scores(stop, own, rows, 0.75)) for e, stop, own, rows in cross.iterate_shortlist_scores()
        ]
    asked: list[tuple[float, float]] = []
    for example, scores in scored:
        first = int(scores.argmax())
        left = scores[mark_remaining_paths(example, examples.table)]
        asked += [(float(scores[first]), float(example.f1[first] > 0))] * 4 + [(float(left.max()), 0.0)]

    def probabilities(slope: float, intercept: float) -> list[float]:
        return [1 / (1 + math.exp(-(slope * score + intercept))) for score, _ in asked[::5]]

    found = probabilities(*training.outcome(trained).calibration)
    assert found == pytest.approx(probabilities(*fit_calibration(asked)), abs=0.01)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("dual.batch_size=0", "train star: dual: expected at least 1 for batch_size, found 0"),
        ("dual_training.epochs=0", "train star: dual_training: expected at least 1 for epochs, found 0"),
        ("cross_training.warmup=1.0", "train star: cross_training: expected 0 to 0.9 for warmup, found 1"),
        ("cross.temperature=0", "train star: cross: expected at least 1e-06 for temperature, found 0"),
        ("cross.w_min=2", "train star: cross: expected 0 to 1.5 for w_min, found 2"),
        ("cross.num_negatives=19", "train star: cross: expected at least 19 for pool_size, found 18"),
        ("mix=1.5", "train star: expected 0 to 1 for mix, found 1.5"),
    ],
)
def test_an_option_out_of_its_range_is_one_line(said: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        training_config(KIND, [said], preset="best")
    assert str(caught.value) == message
