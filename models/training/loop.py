"""Run epochs over shuffled examples on one or more processes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from .checkpoint import (
    TrainingState,
    copy_weights,
    optimizer_tensors,
    read_state,
    restore_optimizer,
    restore_weights,
    write_state,
)
from .objective import Objective, ParameterGroup, TrainingOptions

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
