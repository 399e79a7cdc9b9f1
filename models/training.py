"""Train networks over epochs, keep what a stopped training continues from, and write the checkpoint with its card."""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from pydantic import FiniteFloat
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from . import one_line
from .atomic_files import atomic_write
from .kinds import (
    CARD,
    DRAFT,
    BadCheckpointError,
    ModelDescription,
    ModelKind,
    TrainingOptions,
    Writer,
    decode_dataclass,
    load_description,
    restore_weights,
    write_checkpoint,
)
from .text.encoders import SentenceEncoder
from .text.vectors import TextVectors

NetworkT = TypeVar("NetworkT", bound=nn.Module)
ExampleT = TypeVar("ExampleT")
Figures = Mapping[str, float]


class NothingToLearnError(Exception):
    """A set has no question to train or select on; the message says which."""


class TrainingStateError(Exception):
    """The stored state is damaged, or belongs to another training; the message says which."""


class Objective(ABC, Generic[NetworkT, ExampleT]):
    """A network with its training examples. A kind's own has `loss` and `evaluate`."""

    def __init__(
        self, network: NetworkT, examples: Sequence[ExampleT], training: TrainingOptions, batch_size: int
    ) -> None:
        self.network = network
        self.examples = examples
        self.training = training
        self.batch_size = batch_size
        self.epoch = 0

    def pretrained(self) -> Iterable[Tensor]:
        """Return the parameters that learn at the lower rate: those of the network's `encoder`, if it has one."""
        encoder: Any = getattr(self.network, "encoder", None)
        return encoder.parameters() if encoder is not None else ()

    def weights(self) -> Mapping[str, Tensor]:
        """Return the trained weights, not copies, for states and checkpoints."""
        return self.network.state_dict()

    def batches(self, epoch: int) -> list[list[ExampleT]]:
        """Return the batches of an epoch, which depend on the seed, the epoch and the network alone."""
        self.epoch = epoch
        order = np.random.default_rng((self.training.seed, epoch)).permutation(len(self.examples)).tolist()
        return [
            [self.examples[each] for each in order[start : start + self.batch_size]]
            for start in range(0, len(order), self.batch_size)
        ]

    def autocast(self) -> AbstractContextManager[object]:
        """Return the context in which losses and figures are computed: in the precision of the options."""
        dtype = self.training.dtype
        return torch.autocast(get_network_device(self.network).type, dtype) if dtype else nullcontext()

    @abstractmethod
    def loss(self, batch: Sequence[ExampleT]) -> Tensor:
        """Return the loss of a batch, a scalar."""

    @abstractmethod
    def evaluate(self) -> Figures:
        """Return the figures on the dev examples; the epoch with the highest ``selection_metric`` is kept."""


def _parameter_groups(objective: Objective[Any, Any]) -> list[tuple[list[Tensor], float]]:
    """Return the trainable parameters, pretrained and new ones, with their peak learning rates."""
    inside, options = {id(parameter) for parameter in objective.pretrained()}, objective.training
    learning = [parameter for parameter in objective.network.parameters() if parameter.requires_grad]
    parts = [[each for each in learning if (id(each) in inside) is within] for within in (True, False)]
    rates = (options.learning_rate, options.head_learning_rate)
    return [(part, rate) for part, rate in zip(parts, rates, strict=True) if part]


def get_network_device(network: nn.Module) -> torch.device:
    return next(network.parameters()).device


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The figures of each epoch, and the seconds."""

    history: list[dict[str, float]]
    seconds: float

    @property
    def best_epoch(self) -> int:
        return _best_epoch(self.history)

    @property
    def best(self) -> dict[str, float]:
        return self.history[self.best_epoch]


def _best_epoch(history: Sequence[Mapping[str, float]]) -> int:
    return max(range(len(history)), key=lambda at: (history[at]["selection_metric"], -at), default=-1)


def train_objective(
    objective: Objective[Any, Any],
    state_path: Path,
    resolved: Mapping[str, Any],
    on_step: Callable[[int, int, int, float], None] = lambda *_: None,
    on_epoch: Callable[[int, Figures], None] = lambda *_: None,
) -> TrainingResult:
    """Train the objective's network and leave it with the weights of its best epoch.

    Resumes after the last whole epoch of the state at `state_path` if it has the same `resolved` configuration.
    on_step: called with the epoch (from 0), the steps done and in total, and the mean loss of the epoch. Raises
    `FloatingPointError` when the loss is not finite.
    """
    network, options = objective.network, objective.training
    groups = _parameter_groups(objective)
    optimizer = torch.optim.AdamW(
        [{"params": parameters, "lr": rate} for parameters, rate in groups], weight_decay=options.weight_decay
    )
    scaler = torch.amp.GradScaler(enabled=options.precision == "float16" and torch.cuda.is_available())
    history: list[dict[str, float]] = []
    best: Mapping[str, Tensor] = {}
    before, started = 0.0, time.monotonic()
    if state := _read_state(state_path, resolved):
        fields, tensors = state
        try:
            restore_weights(objective.weights(), tensors["weights"])
        except ValueError as error:
            raise TrainingStateError(f"{state_path}: {error}: {OTHERWISE}") from error
        _restore_optimizer(optimizer, tensors["optimizer"])
        scaler.load_state_dict(fields.scaler)
        history, best, before = fields.history, tensors["best"], fields.seconds
    for epoch in range(len(history), options.epochs):
        if history and epoch - 1 - _best_epoch(history) >= options.patience:
            break
        with objective.autocast():
            batches = objective.batches(epoch)
        losses: list[float] = []
        network.train()
        for step, batch in enumerate(batches, start=1):
            torch.manual_seed(hash((options.seed, epoch, step)) & 0x7FFFFFFF)
            with objective.autocast():
                loss = objective.loss(batch)
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            losses.append(float(loss.detach()))
            if not math.isfinite(losses[-1]):
                raise FloatingPointError(f"epoch {epoch + 1}: the loss is not finite: lower the learning rate")
            progress = (epoch * len(batches) + step) / (options.epochs * len(batches) + 1)  # below 1 at the end
            for group, (_, rate) in zip(optimizer.param_groups, groups, strict=True):
                group["lr"] = rate * compute_learning_rate_share(progress, options.warmup)
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(network.parameters(), options.max_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            on_step(epoch, step, len(batches), sum(losses) / len(losses))
        network.eval()
        with objective.autocast():
            history.append(dict(objective.evaluate()))
        if _best_epoch(history) == epoch:
            best = {name: tensor.detach().cpu().clone() for name, tensor in objective.weights().items()}
        on_epoch(epoch, history[-1])
        seconds = before + time.monotonic() - started
        fields = _State(history=history, seconds=seconds, scaler=scaler.state_dict(), resolved=dict(resolved))
        parts = {"weights": objective.weights(), "optimizer": _optimizer_tensors(optimizer), "best": best}
        _write_state(state_path, fields, parts)
    restore_weights(objective.weights(), best)
    network.eval()
    return TrainingResult(history, before + time.monotonic() - started)


def compute_learning_rate_share(progress: float, warmup: float) -> float:
    """Return the share of the peak learning rate at a share of all steps."""
    rising = min(1.0, progress / warmup) if warmup else 1.0
    return min(rising, (1.0 - progress) / (1.0 - warmup))


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What a state has beside its tensors; a resume must have the same `resolved` configuration.

    history: the figures of each finished epoch. scaler: of the gradients, empty except in float16.
    """

    history: list[dict[str, FiniteFloat]]
    seconds: FiniteFloat
    scaler: dict[str, int | float]
    resolved: dict[str, Any]


Tensors = Mapping[str, Mapping[str, Tensor]]
"""The network's weights, the optimizer's state, and the weights of the best epoch so far."""


def _write_state(path: Path, fields: _State, parts: Tensors) -> None:
    tensors = {
        f"{part}/{name}": tensor.detach().cpu().contiguous()
        for part, named in parts.items()
        for name, tensor in named.items()
    }
    with atomic_write(path) as draft:
        save_file(tensors, draft, {"training": json.dumps(asdict(fields))})


def _read_state(path: Path, resolved: Mapping[str, Any]) -> tuple[_State, Tensors] | None:
    if not path.exists():
        return None
    parts: dict[str, dict[str, Tensor]] = {"weights": {}, "optimizer": {}, "best": {}}
    try:
        with safe_open(path, framework="pt") as file:
            fields = decode_dataclass(_State, file.metadata()["training"])
            for key in file.keys():  # noqa: SIM118 - it is no mapping
                part, _, name = key.partition("/")
                parts[part][name] = file.get_tensor(key)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingStateError(f"{path} is damaged ({one_line(error)}): delete it to begin anew") from error
    now = json.loads(json.dumps(resolved))
    if fields.resolved != now:
        differing = next((name for name in now if fields.resolved.get(name) != now[name]), "its configuration")
        raise TrainingStateError(f"{path} belongs to another training ({differing} differs): {OTHERWISE}")
    return fields, parts


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for number, values in optimizer.state_dict()["state"].items():
        found |= {f"{number}/{name}": torch.as_tensor(value) for name, value in values.items()}
    return found


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition("/")
        state.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


OTHERWISE = "name another --out, or delete the folder to begin anew"


@dataclass(slots=True)
class TrainingFolder:
    """Where a kind trains: a folder with the states of its networks, and at the end the checkpoint.

    precision: of text encoders. vectors: of these, by their names. beside: of a source of pools, the words of the
    graph's relations. any_graph: it is meant for unseen graphs, too. on_step, on_epoch: of `train_objective`, after the
    network's name.
    """

    folder: Path
    device: str = "cpu"
    precision: str = "auto"
    vectors: dict[str, TextVectors] = field(default_factory=dict)
    beside: Any = None
    any_graph: bool = False
    on_step: Callable[[str, int, int, int, float], None] = lambda *_: None
    on_epoch: Callable[[str, int, Figures], None] = lambda *_: None
    results: dict[str, TrainingResult] = field(default_factory=dict)
    kind: ModelKind = field(init=False)
    _identity: dict[str, Any] = field(init=False)
    _hashes: dict[str, list[str]] = field(init=False)

    def vectors_of(self, encoder: str) -> TextVectors:
        if encoder not in self.vectors:
            self.vectors[encoder] = TextVectors(SentenceEncoder(encoder, device=self.device, precision=self.precision))
        return self.vectors[encoder]

    def fit(self, kind: ModelKind, config: Any, train: Sequence[Any], dev: Sequence[Any]) -> Any:
        """Train a model, write its checkpoint, and return its description.

        A second call continues a stopped training, and only reads the description of a finished one. Raises
        `TrainingStateError` if the folder has another training or its checkpoint, or files that a checkpoint would
        replace.
        """
        self.kind = kind
        self._identity = {
            "config": config,
            "train": tuple(each.trained_on for each in train),
            "dev": tuple(each.trained_on for each in dev),
            "any_graph": self.any_graph,
        }
        self._hashes = {"train": [each.sha256 for each in train], "dev": [each.sha256 for each in dev]}
        if (self.folder / f"{kind.name}.json").exists():
            return self._read_finished()
        self._check_free()
        self.folder.mkdir(parents=True, exist_ok=True)
        return kind.fit(config, train, dev, self)

    def train(self, name: str, part: str, objective: Objective[Any, Any], depends_on: Mapping[str, Any]) -> None:
        """Train one network, or continue its training. part: the folder of its files. depends_on: what its weights
        depend on beside the data and the options of the training.
        """
        resolved = {"network": name, **self._hashes, **depends_on, "training": asdict(objective.training)}
        self.results[name] = train_objective(
            objective,
            self._state(part),
            resolved,
            lambda *step: self.on_step(name, *step),
            lambda *epoch: self.on_epoch(name, *epoch),
        )

    def write(
        self,
        parts: Mapping[str, Writer],
        calibration: tuple[float, float],
        figures: Mapping[str, Figures] | None = None,
        **own: Any,
    ) -> Any:
        """Write the checkpoint and return its description. own: the fields of the kind. figures: of dev sets, if no
        network was trained.
        """
        encoder = getattr(self._identity["config"], "encoder", "")
        description = self.kind.description(
            **self._identity,
            **own,
            calibration=calibration,
            figures=figures or {name: each.best for name, each in self.results.items()},
            seconds={name: each.seconds for name, each in self.results.items()},
            encoder_digest=(self.vectors_of(encoder).encoder.weights_digest or "") if encoder else "",
        )
        write_checkpoint(self.folder, description, parts, _model_card(self.kind, description))
        for path in self.folder.glob(self._state("*").name):
            path.unlink(missing_ok=True)
        return description

    def _state(self, part: str) -> Path:
        return self.folder / f"training-{part}.safetensors"

    def _read_finished(self) -> ModelDescription:
        try:
            found, _ = load_description(self.folder, self.kind.description)
        except BadCheckpointError as error:
            raise TrainingStateError(f"{error}; or {OTHERWISE}") from error
        differing = [name for name, value in self._identity.items() if getattr(found, name) != value]
        if differing:
            path = self.folder / f"{self.kind.name}.json"
            raise TrainingStateError(
                f"{path} is the checkpoint of another training ({', '.join(differing)} differ): {OTHERWISE}"
            )
        return found

    def _check_free(self) -> None:
        if any(self.folder.glob(self._state("*").name)) or (self.folder / DRAFT).exists():
            return
        for name in (CARD, *self.kind.description.parts):
            if (self.folder / name).exists():
                path = self.folder / name
                raise TrainingStateError(f"{path} belongs to no checkpoint and would be replaced: name another --out")


def _model_card(kind: ModelKind, description: ModelDescription) -> str:
    graphs = "any graph; measure it there (`lodestar eval`)" if description.any_graph else "the graph it was trained on"
    sets = [
        f"- {split}: {each.questions}, {each.num_questions:,} questions"
        for split in ("train", "dev")
        for each in getattr(description, split)
    ]
    figures = [
        f"- {network}: " + ", ".join(f"{name} {values[name]:.3f}" for name in kind.figures if name in values)
        for network, values in description.figures.items()
    ]
    return "\n".join(
        [
            f"# {kind.title}\n\n{kind.about} It is for {graphs}.\n",
            *sets,
            *figures,
            "\nThe dev questions selected the epoch, so these figures are optimistic. Measure on other questions with "
            f"`lodestar eval`. Every option is in `{kind.name}.json`.\n",
        ]
    )
