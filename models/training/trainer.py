"""Train a model of any kind from its phases to a checkpoint, and continue a training that was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from .card import model_card
from .checkpoint import CARD, DRAFT, remove_checkpoint, write_folder
from .description import CheckpointError, ModelDescription, described
from .kind import Config, ConfigT, DescriptionT, Inputs, ModelKind, ModelT_co, SetT
from .loop import Trained, train
from .processes import shard
from .state import TrainingStateError

OTHERWISE = "name another --out, or give --fresh to begin anew"


@dataclass(frozen=True, slots=True)
class Watcher:
    """Callbacks of a training under way.

    step: the phase's name, the epoch, steps done and of all, the mean loss. epoch: the phase's name, the epoch, its
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
    watcher: Watcher | None = None,
) -> DescriptionT:
    """Train, write the checkpoint to `folder`, and return its description.

    Run again in the same folder it continues where it was stopped, and does nothing where it was finished. revision: of
    the code. Raises `TrainingStateError` when the folder has another training or its checkpoint, or files that a
    checkpoint would replace.
    """
    watcher = watcher or Watcher()
    training = kind.train(config, inputs)
    identity: dict[str, Any] = {
        "config": config.as_json(),
        "train": tuple(each.trained_on for each in inputs.train),
        "dev": tuple(each.trained_on for each in inputs.dev),
        "any_graph": inputs.any_graph,
        **training.identity,
    }
    if finished := _finished(folder, kind.description, identity):
        return finished
    hashes = {"train": [each.sha256 for each in inputs.train], "dev": [each.sha256 for each in inputs.dev]}
    folder.mkdir(parents=True, exist_ok=True)
    trained: dict[str, Trained] = {}
    for phase in training.phases:
        torch.manual_seed(phase.options.seed)
        trained[phase.name] = train(
            phase.objective(),
            phase.options,
            _state_path(folder, phase.part),
            {
                "network": phase.name,
                **hashes,
                **training.data,
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
    if shard()[0] == 0:
        card = model_card(kind.title, kind.about(description), description, trained, kind.figures, training.sources)
        write_folder(folder, description, outcome.parts, card)
        forget_states(folder)
    return description


def _encoder_digest(config: Config, inputs: Inputs[Any]) -> str:
    name = getattr(config, "encoder", "")
    return (inputs.vectors_of(name).encoder.weights_digest or "") if name else ""


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


def _finished(folder: Path, kind: type[DescriptionT], identity: Mapping[str, Any]) -> DescriptionT | None:
    """Return the description of the checkpoint that this training would come to, None where there is none yet."""
    path = folder / f"{kind.kind}.json"
    if not path.exists():
        _check_free(folder, kind)
        return None
    try:
        found, _ = described(folder, kind)
    except CheckpointError as error:
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
    """Check that a checkpoint would replace nothing but what a stopped training left while it wrote its own."""
    if any(folder.glob(_state_path(folder, "*").name)) or (folder / DRAFT).exists():
        return
    for name in (CARD, *kind.parts):
        if (folder / name).exists():
            raise TrainingStateError(f"{folder / name} is of no checkpoint, and would be replaced: name another --out")
