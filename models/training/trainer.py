"""Train a kind's phases, calibrate, and write the model card."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from .checkpoint import CARD, DRAFT, TrainingStateError, remove_checkpoint, write_checkpoint
from .description import BadCheckpointError, ModelDescription, TrainingDataRecord, load_description
from .kind import Config, ConfigT, DescriptionT, Inputs, ModelKind, ModelT_co, SetT
from .loop import TrainingResult, rank_and_world_size, train

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
    beside: Mapping[str, int],
) -> str:
    """Return the card as Markdown. about: paragraphs. figures: the displayed ones. beside: counts of further training
    data.
    """
    return "\n\n".join(
        [
            f"# {title}",
            *about,
            "## Learned from",
            "\n".join(_sources(description, beside)),
            "## Dev figures of each epoch",
            "\n".join(_epochs(trained, figures)),
            "The dev questions selected the epoch, so these figures are optimistic. Measure on other questions with "
            "`lodestar eval`.",
            f"Training took: {_minutes(description)}. Every option is in `{description.kind}.json`.\n",
        ]
    )


def _sources(description: ModelDescription, beside: Mapping[str, int]) -> Iterator[str]:
    yield "| | question set | questions | hops | SHA-256 of the set | graph |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for split, parts in (("train", description.train), ("dev", description.dev)):
        yield from (_source(split, part) for part in parts)
    for name, number in beside.items():
        yield f"| pairs | {name} | {number:,} | | | |"


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
    if rank_and_world_size()[0] == 0:
        card = model_card(kind.title, kind.about(description), description, trained, kind.figures, training.sources)
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
