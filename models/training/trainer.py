"""A training from its phases to a checkpoint: taken up where it was stopped, nothing done twice, nothing replaced."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic

import torch

from .checkpoint import CARD, DRAFT, Writer, remove_checkpoint, write_folder
from .description import CheckpointError, DescriptionT, ModelDescription, described
from .loop import Trained, train
from .objective import Objective
from .options import TrainingOptions
from .processes import shard
from .state import TrainingStateError

OTHERWISE = "name another --out, or give --fresh to begin anew"


@dataclass(frozen=True, slots=True)
class Watcher:
    """What is told while training runs: step with the phase's name, the epoch, steps done and of all, the mean loss;
    epoch with the name, its number and figures."""

    step: Callable[[str, int, int, int, float], None] = lambda *_: None
    epoch: Callable[[str, int, Mapping[str, float]], None] = lambda *_: None


@dataclass(frozen=True, slots=True)
class Phase:
    """The training of one network, after those of the phases before it.

    name: as it is shown. part: as its files are called. depends_on: what its weights depend on beside its options and
    the data. objective: made when its turn comes, with the seed set.
    """

    name: str
    part: str
    options: TrainingOptions
    depends_on: Mapping[str, Any]
    objective: Callable[[], Objective]


@dataclass(frozen=True, slots=True)
class Result(Generic[DescriptionT]):
    """What a training came to, to be written."""

    description: DescriptionT
    parts: Mapping[str, Writer]
    card: str


@dataclass(frozen=True, slots=True)
class Trainer(Generic[DescriptionT]):
    """How a model is trained. kind: of the checkpoint. asked: fields of its description that are known before, and tell
    this training from others. data: hashes of what is learned from and chosen by. result: of all phases."""

    kind: type[DescriptionT]
    asked: Mapping[str, Any]
    data: Mapping[str, Any]
    phases: Sequence[Phase]
    result: Callable[[Mapping[str, Trained]], Result[DescriptionT]]


def trained_in(folder: Path, trainer: Trainer[DescriptionT], watcher: Watcher) -> DescriptionT:
    """Train, write the checkpoint to `folder`, and return its description.

    Run again in the same folder it continues where it was stopped, and does nothing where it was finished. Raises
    `TrainingStateError` when the folder has another training or its checkpoint, or files that a checkpoint would
    replace.
    """
    if done := _finished(folder, trainer):
        return done
    folder.mkdir(parents=True, exist_ok=True)
    trained: dict[str, Trained] = {}
    for phase in trainer.phases:
        torch.manual_seed(phase.options.seed)
        trained[phase.name] = train(
            phase.objective(),
            phase.options,
            _state_path(folder, phase.part),
            {"network": phase.name, **trainer.data, **phase.depends_on, "training": phase.options.as_json()},
            lambda epoch, done, total, loss, name=phase.name: watcher.step(name, epoch, done, total, loss),  # type: ignore[misc]
            lambda epoch, figures, name=phase.name: watcher.epoch(name, epoch, figures),  # type: ignore[misc]
        )
    result = trainer.result(trained)
    if shard()[0] == 0:
        write_folder(folder, result.description, result.parts, result.card)
        forget_states(folder)
    return result.description


def begin_anew(folder: Path, kind: type[ModelDescription]) -> None:
    """Remove the checkpoint of a folder and what is under way there; files that are no checkpoint's stay."""
    if (folder / f"{kind.kind}.json").exists():
        remove_checkpoint(folder, kind)
    forget_states(folder)


def forget_states(folder: Path) -> None:
    """Delete the states of trainings."""
    for path in folder.glob(_state_path(folder, "*").name):
        path.unlink(missing_ok=True)


def _state_path(folder: Path, part: str) -> Path:
    return folder / f"training-{part}.safetensors"


def _finished(folder: Path, trainer: Trainer[DescriptionT]) -> DescriptionT | None:
    """Return the description of the checkpoint that this training would come to, None where there is none yet."""
    path = folder / f"{trainer.kind.kind}.json"
    if not path.exists():
        _check_free(folder, trainer.kind)
        return None
    try:
        found, _ = described(folder, trainer.kind)
    except CheckpointError as error:
        raise TrainingStateError(f"{error}; or {OTHERWISE}") from error
    said, asked = _plain({name: getattr(found, name) for name in trainer.asked}), _plain(trainer.asked)
    differing = [name for name in asked if said[name] != asked[name]]
    if differing:
        raise TrainingStateError(
            f"{path} is the checkpoint of another training ({', '.join(differing)} differ): {OTHERWISE}"
        )
    return found


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(fields, default=asdict))
    return plain


def _check_free(folder: Path, kind: type[ModelDescription]) -> None:
    """See that a checkpoint would replace nothing but what a training left that was stopped while it wrote its own."""
    if any(folder.glob(_state_path(folder, "*").name)) or (folder / DRAFT).exists():
        return
    for name in (CARD, *kind.parts):
        if (folder / name).exists():
            raise TrainingStateError(f"{folder / name} is of no checkpoint, and would be replaced: name another --out")
