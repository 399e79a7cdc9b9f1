"""Write checkpoints, and resume a training exactly.

    KIND.json     the resolved configuration, its training data, its figures, SHA-256 of each file of its parts
    README.md     the model card
    PART/         the files of a network, model.safetensors among them

The kind defines description and parts. No pickle is ever read or written.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import FiniteFloat
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..message_text import one_line
from ..ranges import Count
from ..whole_file import atomic_write, file_sha256, translate_safetensors_errors
from .kind import FORMAT, BadCheckpointError, DescriptionT, ModelDescription, decode_dataclass, load_description

CARD = "README.md"
WEIGHTS = "model.safetensors"
DRAFT = ".checkpoint.new"

Writer = Callable[[Path], None]
"""Writes the files of a part into its folder."""


def write_checkpoint(folder: Path, description: ModelDescription, parts: Mapping[str, Writer], card: str) -> None:
    """Write a checkpoint atomically in place of the one before: its description, its parts, its card.

    Raises `OSError` if it cannot be written, `ValueError` for a description with NaN or infinity.
    """
    draft = folder / DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        for name, writer in parts.items():
            (draft / name).mkdir()
            with translate_safetensors_errors():
                writer(draft / name)
        written = sorted(path for path in draft.rglob("*") if path.is_file())
        hashes = {path.relative_to(draft).as_posix(): file_sha256(path) for path in written}
        fields = {"format": FORMAT, "kind": description.kind, **asdict(description), "files": hashes}
        text = json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False)
        name = f"{description.kind}.json"
        (draft / name).write_text(text + "\n", encoding="utf-8")
        (draft / CARD).write_text(card, encoding="utf-8")
        remove_checkpoint(folder, type(description))  # from here until the last rename there is no checkpoint
        for path in sorted(draft.iterdir(), key=lambda path: path.name == name):
            path.replace(folder / path.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remove_checkpoint(folder: Path, kind: type[ModelDescription]) -> None:
    """Remove a folder's checkpoint, if there is one, its description first."""
    (folder / f"{kind.kind}.json").unlink(missing_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    for part in kind.parts:
        shutil.rmtree(folder / part, ignore_errors=True)


def check_checkpoint(
    folder: Path, kind: type[DescriptionT], parts: Callable[[DescriptionT], Collection[str]]
) -> DescriptionT:
    """Return a checkpoint's description after checking every file's hash; all `parts` must be there.

    Raises `BadCheckpointError` for a missing, damaged or unreadable file.
    """
    description, hashes = load_description(folder, kind)
    for name in sorted({*hashes, *(f"{part}/{WEIGHTS}" for part in parts(description))}):
        path = folder / name
        with translate_read_errors(path):
            if not path.is_file() or file_sha256(path) != hashes.get(name):
                raise BadCheckpointError(
                    f"{path}: missing, or not the file that was written: train or fetch the checkpoint again"
                )
    return description


@contextmanager
def translate_read_errors(path: Path) -> Iterator[None]:
    """Raise `BadCheckpointError` for any error in the block, which reads files of a checkpoint."""
    try:
        yield
    except BadCheckpointError:
        raise
    except Exception as error:
        raise BadCheckpointError(
            f"{path}: the checkpoint cannot be read ({one_line(error)}): train or fetch it again"
        ) from error


def write_weights(weights: Mapping[str, Tensor], part: Path) -> None:
    """Write a network's weights into the folder of its part, or raise `OSError`."""
    path = part / WEIGHTS
    try:
        save_file({name: each.detach().cpu().contiguous() for name, each in weights.items()}, path, {"format": "pt"})
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error


def read_weights(part: Path) -> dict[str, Tensor]:
    """Return the weights in the folder of a part; raise `ValueError` for a weight that is not finite."""
    weights = load_file(part / WEIGHTS)
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{name} has a weight that is not finite")
    return weights


STATE_FORMAT = 1


class TrainingStateError(Exception):
    """The stored state is damaged, or belongs to another training; the message says which."""


@dataclass(frozen=True, slots=True)
class TrainingState:
    """What a training resumes from: the next epoch and step, and the weights and state so far.

    best: the weights of the best epoch so far, empty before the first. history: the figures of each finished epoch.
    scaler: of the gradients, empty except in fp16.
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
class _StateFields:
    """The fields of a state beside its tensors; a resume must have the same `resolved` configuration."""

    format: int = STATE_FORMAT
    epoch: Count
    step: Count
    history: list[dict[str, FiniteFloat]]
    seconds: FiniteFloat
    scaler: dict[str, int | float]
    resolved: dict[str, Any]


def write_state(path: Path, state: TrainingState, resolved: Mapping[str, Any]) -> None:
    """Write a state atomically, or raise `OSError`; a resume must have the same `resolved` configuration."""
    tensors = {
        f"{part}/{name}": tensor.detach().cpu().contiguous()
        for part in _PARTS
        for name, tensor in getattr(state, part).items()
    }
    fields = _StateFields(
        epoch=state.epoch,
        step=state.step,
        history=state.history,
        seconds=state.seconds,
        scaler=dict(state.scaler),
        resolved=dict(resolved),
    )
    try:
        with atomic_write(path) as draft:
            save_file(tensors, draft, {"training": json.dumps(asdict(fields))})
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error


def read_state(path: Path, resolved: Mapping[str, Any]) -> TrainingState | None:
    """Return the state to resume from, None if there is none; raise `TrainingStateError` for a damaged one, or one of
    another configuration.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            fields = decode_dataclass(_StateFields, file.metadata()["training"])
            parts: dict[str, dict[str, Tensor]] = {part: {} for part in _PARTS}
            for key in file.keys():  # noqa: SIM118 - it is no mapping
                part, _, name = key.partition("/")
                parts[part][name] = file.get_tensor(key)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingStateError(f"{path} is damaged ({one_line(error)}): give --fresh to begin anew") from error
    now = json.loads(json.dumps(resolved))
    if fields.format != STATE_FORMAT or fields.resolved != now:
        differing = next((name for name in now if fields.resolved.get(name) != now[name]), "its format")
        raise TrainingStateError(
            f"{path} belongs to another training ({differing} differs): name another --out, or give --fresh to begin "
            "anew"
        )
    return TrainingState(
        fields.epoch,
        fields.step,
        history=fields.history,
        seconds=fields.seconds,
        scaler=fields.scaler,
        **parts,
    )


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the state of an optimizer as named tensors."""
    found: dict[str, Tensor] = {}
    for number, values in optimizer.state_dict()["state"].items():
        found |= {f"{number}/{name}": torch.as_tensor(value) for name, value in values.items()}
    return found


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore an optimizer's state from `optimizer_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition("/")
        state.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def copy_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies of weights, on the CPU."""
    return {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}


def restore_weights(weights: Mapping[str, Tensor], saved_weights: Mapping[str, Tensor]) -> None:
    """Copy saved weights into a network; raise `TrainingStateError` if they belong to another network."""
    if {name: tensor.shape for name, tensor in weights.items()} != {
        name: each.shape for name, each in saved_weights.items()
    }:
        raise TrainingStateError(
            "the state belongs to another network: name another --out, or give --fresh to begin anew"
        )
    with torch.no_grad():
        for name, tensor in weights.items():
            tensor.copy_(saved_weights[name])
