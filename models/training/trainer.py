"""Train a kind's phases over epochs on one or more processes, calibrate, and write the checkpoint with its card."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from .checkpoint import (
    CARD,
    DRAFT,
    TrainingState,
    TrainingStateError,
    copy_weights,
    optimizer_tensors,
    read_state,
    remove_checkpoint,
    restore_optimizer,
    restore_weights,
    write_checkpoint,
    write_state,
)
from .kind import (
    BadCheckpointError,
    Config,
    ConfigT,
    DescriptionT,
    Inputs,
    ModelDescription,
    ModelKind,
    ModelT_co,
    Objective,
    ParameterGroup,
    SetT,
    TrainingDataRecord,
    TrainingOptions,
    load_description,
)

NetworkT = TypeVar("NetworkT", bound=nn.Module)
ExampleT = TypeVar("ExampleT")


class ShuffledObjective(Generic[NetworkT, ExampleT]):
    """An `Objective` except for `loss` and `evaluate`. All parameters use the head's learning rate."""

    def __init__(
        self, network: NetworkT, examples: Sequence[ExampleT], training: TrainingOptions, batch_size: int
    ) -> None:
        self.network = network
        self.training = training
        self.batch_size = batch_size
        self.epoch = 0
        self._examples = examples
        self._order = list(range(len(examples)))

    def groups(self) -> list[ParameterGroup]:
        """Return the trainable parameters."""
        learning = [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        return [ParameterGroup(learning, self.training.head_learning_rate)]

    def get_weights(self) -> Mapping[str, Tensor]:
        """Return all weights."""
        return self.network.state_dict()

    def autocast(self) -> AbstractContextManager[object]:
        """Return the context for the network's part of a loss: it computes in the precision of the options."""
        dtype = self.training.dtype
        return torch.autocast(next(self.network.parameters()).device.type, dtype) if dtype else nullcontext()

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch."""
        return -(-len(self._examples) // self.batch_size)

    def begin(self, epoch: int) -> None:
        """Shuffle the examples."""
        self.epoch = epoch
        rng = np.random.default_rng((self.training.seed, epoch))
        self._order = rng.permutation(len(self._examples)).tolist()

    def state(self) -> dict[str, Tensor]:
        """Return nothing: an epoch depends only on its number."""
        return {}

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Shuffle the examples as `begin` did."""
        del state
        self.begin(epoch)

    def batch(self, step: int, shard: tuple[int, int]) -> list[ExampleT]:
        """Return the examples of a step, or this rank's part of them, at least one. shard: (rank, number of ranks)."""
        batch = self._order[step * self.batch_size : (step + 1) * self.batch_size]
        return [self._examples[each] for each in batch[shard[0] :: shard[1]] or batch[:1]]


@contextmanager
def process_group() -> Iterator[bool]:
    """Join the group that torchrun describes in the environment, if any; yield whether this process is its first.

    On GPUs each process uses the one of its local rank.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield True
        return
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield torch.distributed.get_rank() == 0
    finally:
        torch.distributed.destroy_process_group()


def is_first_process() -> bool:
    """Whether this is the first of torchrun's processes, or the only process."""
    return int(os.environ.get("RANK", "0")) == 0


def rank_and_world_size() -> tuple[int, int]:
    """Return this process's rank and the number of ranks; (0, 1) outside of a process group."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def wait_for_all_processes() -> None:
    """Return when every process of the group is here; at once outside of a group."""
    if rank_and_world_size()[1] > 1:
        torch.distributed.barrier()


Report = Callable[[int, int, int, float], None]
"""Called after each step with the epoch (from 0), the steps done and in total, and the mean loss of the epoch."""
EpochReport = Callable[[int, Mapping[str, float]], None]
"""Called after each epoch with its figures."""


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The figures of each epoch, the best epoch (the network has its weights), and the seconds."""

    history: list[dict[str, float]]
    best_epoch: int
    seconds: float

    @property
    def best(self) -> dict[str, float]:
        """The figures of the best epoch."""
        return self.history[self.best_epoch]


def train(
    objective: Objective,
    options: TrainingOptions,
    state_path: Path,
    resolved: Mapping[str, Any],
    report: Report = lambda *_: None,
    report_epoch: EpochReport = lambda *_: None,
) -> TrainingResult:
    """Train the objective's network and leave it with the weights of its best epoch.

    Resumes the state at `state_path` if it has the same `resolved` configuration. In a process group (torchrun) every
    rank takes its part of each batch and evaluates; rank 0's figures count, and rank 0 writes. Raises
    `FloatingPointError` when the loss is not finite.
    """
    return _Training(objective, options, state_path, resolved, report, report_epoch).run()


class _Training:
    def __init__(
        self,
        objective: Objective,
        options: TrainingOptions,
        state_path: Path,
        resolved: Mapping[str, Any],
        report: Report,
        report_epoch: EpochReport,
    ) -> None:
        self.objective = objective
        self.options = options
        self.state_path = state_path
        self.resolved = resolved
        self.report = report
        self.report_epoch = report_epoch
        self.network = objective.network
        self.shard = rank_and_world_size()
        self.optimizer = torch.optim.AdamW(
            [{"params": list(group.parameters), "lr": group.learning_rate} for group in objective.groups()],
            weight_decay=options.weight_decay,
        )
        self.base_rates = [group["lr"] for group in self.optimizer.param_groups]
        self.scaler = torch.amp.GradScaler(enabled=options.precision == "fp16" and torch.cuda.is_available())
        self.wrapped = self._wrap()
        self.history: list[dict[str, float]] = []
        self.best: dict[str, torch.Tensor] = {}
        self.seconds_before = 0.0
        self.started_s = self.saved_s = time.monotonic()

    def run(self) -> TrainingResult:
        epoch, step = self._resume()
        for number in range(epoch, self.options.epochs):
            if self._is_over():
                break
            if step == 0:
                self.objective.begin(number)
            self._epoch(number, step)
            step = 0
            self._finish_epoch(number)
        restore_weights(self.objective.get_weights(), self.best)
        self.network.eval()
        return TrainingResult(self.history, self._best_epoch(), self._seconds())

    def _epoch(self, epoch: int, first: int) -> None:
        steps = self.objective.steps_per_epoch
        losses: list[float] = []
        self.network.train()
        for step in range(first, steps):
            torch.manual_seed(hash((self.options.seed, epoch, step, self.shard[0])) & 0x7FFFFFFF)
            loss = self.objective.loss(self.wrapped, step, self.shard)
            self.scaler.scale(loss / self.options.accumulate).backward()  # type: ignore[no-untyped-call]
            losses.append(float(loss.detach()))
            if not math.isfinite(losses[-1]):
                raise FloatingPointError(f"epoch {epoch + 1}: the loss is not finite: lower the learning rate")
            if (step + 1) % self.options.accumulate == 0 or step + 1 == steps:
                self._update((epoch * steps + step + 1) / (self.options.epochs * steps + 1))  # above 0 at the last step
                if step + 1 < steps and time.monotonic() - self.saved_s >= self.options.save_every_s:
                    self._save(epoch, step + 1)
            self.report(epoch, step + 1, steps, sum(losses) / len(losses))

    def _update(self, progress: float) -> None:
        rising = min(1.0, progress / self.options.warmup) if self.options.warmup else 1.0
        falling = (1.0 - progress) / (1.0 - self.options.warmup)
        for group, rate in zip(self.optimizer.param_groups, self.base_rates, strict=True):
            group["lr"] = rate * min(rising, falling)
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.options.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def _finish_epoch(self, epoch: int) -> None:
        self.network.eval()
        figures = self._share_figures(dict(self.objective.evaluate()))
        self.history.append(figures)
        if self._best_epoch() == epoch:
            self.best = copy_weights(self.objective.get_weights())
        self.report_epoch(epoch, figures)
        self._save(epoch + 1, 0)

    def _share_figures(self, figures: dict[str, float]) -> dict[str, float]:
        """Return rank 0's figures, so that all ranks decide alike."""
        if self.shard[1] == 1:
            return figures
        device = next(self.network.parameters()).device
        values = torch.tensor(list(figures.values()), dtype=torch.float64, device=device)
        torch.distributed.broadcast(values, 0)
        return dict(zip(figures, values.tolist(), strict=True))

    def _best_epoch(self) -> int:
        """The first epoch with the best figures."""
        return max(range(len(self.history)), key=lambda at: (self.history[at]["selection_metric"], -at))

    def _is_over(self) -> bool:
        """Whether the last `patience` epochs brought no improvement."""
        return bool(self.history) and len(self.history) - 1 - self._best_epoch() >= self.options.patience

    def _resume(self) -> tuple[int, int]:
        state = read_state(self.state_path, self.resolved)
        if state is None:
            return 0, 0
        restore_weights(self.objective.get_weights(), state.weights)
        restore_optimizer(self.optimizer, state.optimizer)
        self.best, self.history, self.seconds_before = dict(state.best), state.history, state.seconds
        if state.scaler:
            self.scaler.load_state_dict(dict(state.scaler))
        if state.step:
            self.objective.resume(state.epoch, state.objective)
        return state.epoch, state.step

    def _save(self, epoch: int, step: int) -> None:
        self.saved_s = time.monotonic()
        if self.shard[0] == 0:
            state = TrainingState(
                epoch=epoch,
                step=step,
                weights=self.objective.get_weights(),
                optimizer=optimizer_tensors(self.optimizer),
                objective=self.objective.state() if step else {},
                best=self.best,
                history=self.history,
                seconds=self._seconds(),
                scaler=self.scaler.state_dict(),
            )
            write_state(self.state_path, state, self.resolved)

    def _seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.started_s

    def _wrap(self) -> nn.Module:
        network = self.network
        if self.options.compile:
            network.compile()
        return DistributedDataParallel(network, find_unused_parameters=True) if self.shard[1] > 1 else network


PENALTY = 1e-3
"""Keeps the slope finite when the scores separate right from wrong perfectly."""


def fit_calibration(
    scored: Sequence[tuple[float, float]], weights: Sequence[float] | None = None
) -> tuple[float, float]:
    """Return slope and intercept of P = σ(slope · score + intercept), by logistic regression (Platt 1999).

    scored: the score of each question's first path, and 1 if it is right, else 0. weights: sum to 1; None for equal
    weights.
    """
    scores, right = torch.tensor(list(scored), dtype=torch.float64).T
    weight = torch.full_like(right, 1 / len(right)) if weights is None else right.new_tensor(list(weights))
    mean, spread = scores.mean(), scores.std(unbiased=False).clamp(min=1e-6)
    standard = (scores - mean) / spread
    line = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([line], line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = line[0] * standard + line[1]
        losses = torch.nn.functional.binary_cross_entropy_with_logits(logits, right, reduction="none")
        value: torch.Tensor = weight @ losses + PENALTY * line.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    slope = float(line[0].detach() / spread)
    intercept = float(line[1].detach()) - slope * float(mean)
    return slope, intercept


def model_card(
    title: str,
    about: Iterable[str],
    description: ModelDescription,
    trained: Mapping[str, TrainingResult],
    figures: Sequence[str],
) -> str:
    """Return the card as Markdown. about: paragraphs. figures: the displayed ones."""
    return "\n\n".join(
        [
            f"# {title}",
            *about,
            "## Learned from",
            "\n".join(_sources(description)),
            "## Dev figures of each epoch",
            "\n".join(_epochs(trained, figures)),
            "The dev questions selected the epoch, so these figures are optimistic. Measure on other questions with "
            "`lodestar eval`.",
            f"Training took: {_minutes(description)}. Every option is in `{description.kind}.json`.\n",
        ]
    )


def _sources(description: ModelDescription) -> Iterator[str]:
    yield "| | question set | questions | hops | SHA-256 of the set | graph |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for split, parts in (("train", description.train), ("dev", description.dev)):
        yield from (_source(split, part) for part in parts)


def _source(split: str, part: TrainingDataRecord) -> str:
    return (
        f"| {split} | {part.questions} | {part.num_questions:,} | {part.max_hop} | `{part.questions_sha256[:12]}` "
        f"| `{part.graph[:12]}` |"
    )


def _epochs(trained: Mapping[str, TrainingResult], names: Sequence[str]) -> Iterator[str]:
    yield f"| network | epoch | {' | '.join(names)} | |"
    yield f"| --- | --- |{' --- |' * len(names)} --- |"
    for name, each in trained.items():
        for epoch, figures in enumerate(each.history):
            values = " | ".join(f"{figures[metric]:.3f}" if metric in figures else "" for metric in names)
            yield f"| {name} | {epoch + 1} | {values} | {'kept' if epoch == each.best_epoch else ''} |"


def _minutes(description: ModelDescription) -> str:
    return ", ".join(f"{name} {seconds / 60:.1f} minutes" for name, seconds in description.seconds.items())


OTHERWISE = "name another --out, or give --fresh to begin anew"


@dataclass(frozen=True, slots=True)
class TrainingCallbacks:
    """Callbacks of a running training.

    step: the phase's name, the epoch, steps done and in total, the mean loss. epoch: the phase's name, the epoch, its
    figures.
    """

    step: Callable[[str, int, int, int, float], None] = lambda *_: None
    epoch: Callable[[str, int, Mapping[str, float]], None] = lambda *_: None


def train_model(
    kind: ModelKind[ConfigT, DescriptionT, SetT, ModelT_co],
    config: ConfigT,
    inputs: Inputs[SetT],
    folder: Path,
    *,
    revision: str = "",
    watcher: TrainingCallbacks | None = None,
) -> DescriptionT:
    """Train, write the checkpoint to `folder`, and return its description.

    A second run in the same folder resumes a stopped training, and does nothing for a finished one. revision: of the
    code. Raises `TrainingStateError` if the folder has another training or its checkpoint, or files that a checkpoint
    would replace.
    """
    watcher = watcher or TrainingCallbacks()
    training = kind.train(config, inputs)
    identity: dict[str, Any] = {
        "config": config.as_json(),
        "train": tuple(each.trained_on for each in inputs.train),
        "dev": tuple(each.trained_on for each in inputs.dev),
        "any_graph": inputs.any_graph,
        **training.identity,
    }
    if finished := _find_finished(folder, kind.description, identity):
        return finished
    hashes = {"train": [each.sha256 for each in inputs.train], "dev": [each.sha256 for each in inputs.dev]}
    folder.mkdir(parents=True, exist_ok=True)
    trained: dict[str, TrainingResult] = {}
    for phase in training.phases:
        torch.manual_seed(phase.options.seed)
        trained[phase.name] = train(
            phase.objective(),
            phase.options,
            _state_path(folder, phase.part),
            {
                "network": phase.name,
                **hashes,
                **phase.depends_on,
                "training": phase.options.as_json(),
            },
            lambda epoch, done, total, loss, name=phase.name: watcher.step(name, epoch, done, total, loss),  # type: ignore[misc]
            lambda epoch, figures, name=phase.name: watcher.epoch(name, epoch, figures),  # type: ignore[misc]
        )
    outcome = training.outcome(trained)
    description = kind.description(
        **identity,
        **outcome.fields,
        calibration=outcome.calibration,
        figures={**{name: each.best for name, each in trained.items()}, **outcome.figures},
        seconds={name: each.seconds for name, each in trained.items()},
        revision=revision,
        encoder_digest=_encoder_digest(config, inputs),
    )
    if rank_and_world_size()[0] == 0:
        card = model_card(kind.title, kind.about(description), description, trained, kind.figures)
        write_checkpoint(folder, description, outcome.parts, card)
        delete_states(folder)
    return description


def _encoder_digest(config: Config, inputs: Inputs[Any]) -> str:
    name = getattr(config, "encoder", "")
    return (inputs.vectors_of(name).encoder.weights_digest or "") if name else ""


def delete_training(folder: Path, kind: type[ModelDescription]) -> None:
    """Remove a folder's checkpoint and the states of its training; other files stay."""
    if (folder / f"{kind.kind}.json").exists():
        remove_checkpoint(folder, kind)
    delete_states(folder)


def delete_states(folder: Path) -> None:
    """Delete the states of trainings."""
    for path in folder.glob(_state_path(folder, "*").name):
        path.unlink(missing_ok=True)


def _state_path(folder: Path, part: str) -> Path:
    return folder / f"training-{part}.safetensors"


def _find_finished(folder: Path, kind: type[DescriptionT], identity: Mapping[str, Any]) -> DescriptionT | None:
    """Return the description of this training's finished checkpoint; None if there is none yet."""
    path = folder / f"{kind.kind}.json"
    if not path.exists():
        _check_free(folder, kind)
        return None
    try:
        found, _ = load_description(folder, kind)
    except BadCheckpointError as error:
        raise TrainingStateError(f"{error}; or {OTHERWISE}") from error
    there, wanted = _plain({name: getattr(found, name) for name in identity}), _plain(identity)
    differing = [name for name in wanted if there[name] != wanted[name]]
    if differing:
        raise TrainingStateError(
            f"{path} is the checkpoint of another training ({', '.join(differing)} differ): {OTHERWISE}"
        )
    return found


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(fields, default=asdict))
    return plain


def _check_free(folder: Path, kind: type[ModelDescription]) -> None:
    """Check that a checkpoint would replace only what an interrupted write of this training left."""
    if any(folder.glob(_state_path(folder, "*").name)) or (folder / DRAFT).exists():
        return
    for name in (CARD, *kind.parts):
        if (folder / name).exists():
            raise TrainingStateError(
                f"{folder / name} belongs to no checkpoint and would be replaced: name another --out"
            )
