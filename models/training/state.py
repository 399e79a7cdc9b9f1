"""The state of a training under way, in one safetensors file: weights, optimizer, what comes next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field, FiniteFloat
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..one_line import one_line
from ..whole_file import atomic_write
from .decoding import decoded

FORMAT = 1


class TrainingStateError(Exception):
    """The state on disk is damaged, or of another training; the message says which."""


@dataclass(frozen=True, slots=True)
class TrainingState:
    """What a training continues from: the epoch and the step to do next, and whatever was decided before.

    best: the weights of the best epoch so far, empty before the first. history: the figures of each finished epoch.
    scaler: of the gradients, empty but for fp16.
    """

    epoch: int
    step: int
    weights: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]
    objective: Mapping[str, Tensor]
    best: Mapping[str, Tensor]
    history: list[dict[str, float]]
    seconds: float
    scaler: Mapping[str, float]


_PARTS = ("weights", "optimizer", "objective", "best")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What a state says beside its tensors; `resolved` is the configuration that a resume must have as well."""

    format: int = FORMAT
    epoch: Annotated[int, Field(ge=0)]
    step: Annotated[int, Field(ge=0)]
    history: list[dict[str, FiniteFloat]]
    seconds: FiniteFloat
    scaler: dict[str, int | float]
    resolved: dict[str, Any]


def write_state(path: Path, state: TrainingState, resolved: Mapping[str, Any]) -> None:
    """Write a state, whole or not at all, or raise `OSError`; `resolved` is the configuration that a resume must have
    as well."""
    tensors = {
        f"{part}/{name}": tensor.detach().cpu().contiguous()
        for part in _PARTS
        for name, tensor in getattr(state, part).items()
    }
    said = _Said(
        epoch=state.epoch,
        step=state.step,
        history=state.history,
        seconds=state.seconds,
        scaler=dict(state.scaler),
        resolved=dict(resolved),
    )
    try:
        with atomic_write(path) as draft:
            save_file(tensors, draft, {"training": json.dumps(asdict(said))})
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error


def read_state(path: Path, resolved: Mapping[str, Any]) -> TrainingState | None:
    """Return the state to continue from, None where there is none; raise `TrainingStateError` for one of another
    configuration or a damaged one."""
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            said = decoded(_Said, file.metadata()["training"])
            parts: dict[str, dict[str, Tensor]] = {part: {} for part in _PARTS}
            for key in file.keys():  # noqa: SIM118 - it is no mapping
                part, _, name = key.partition("/")
                parts[part][name] = file.get_tensor(key)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingStateError(f"{path} is damaged ({one_line(error)}): give --fresh to begin anew") from error
    now = json.loads(json.dumps(resolved))
    if said.format != FORMAT or said.resolved != now:
        differing = next((name for name in now if said.resolved.get(name) != now[name]), "its format")
        raise TrainingStateError(
            f"{path} is of another training ({differing} differs): name another --out, or give --fresh to begin anew"
        )
    return TrainingState(
        said.epoch,
        said.step,
        history=said.history,
        seconds=said.seconds,
        scaler=said.scaler,
        **parts,
    )


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the state of an optimizer as named tensors."""
    found: dict[str, Tensor] = {}
    for number, values in optimizer.state_dict()["state"].items():
        found |= {f"{number}/{name}": torch.as_tensor(value) for name, value in values.items()}
    return found


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give an optimizer the state that `optimizer_tensors` returned."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition("/")
        state.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies of weights, on the CPU."""
    return {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}


def restore_weights(weights: Mapping[str, Tensor], kept: Mapping[str, Tensor]) -> None:
    """Give the weights of a network the values that were kept; raise `TrainingStateError` where they are of another."""
    if {name: tensor.shape for name, tensor in weights.items()} != {name: each.shape for name, each in kept.items()}:
        raise TrainingStateError("the state is of another network: name another --out, or give --fresh to begin anew")
    with torch.no_grad():
        for name, tensor in weights.items():
            tensor.copy_(kept[name])
