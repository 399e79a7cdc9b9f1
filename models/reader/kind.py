"""Register the reader as a kind of model: how it is described, trained and opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ..ranges import Range, Ranged, Share
from ..training.kind import (
    READINGS,
    CheckpointOpenOptions,
    Inputs,
    ModelDescription,
    ModelKind,
    NothingToLearnError,
    Outcome,
    Training,
)
from .features import NAMES
from .fitting import ReaderTrainingSet, figures, fit_reader
from .model import ANSWER_FEATURES, READS, Reader, SourceWeights
from .plan import PathPlan

FIGURES = ("f1", "hits_at_1", "ece", "oracle")
"""Figures of a checkpoint: F1, Hits@1 and calibration error of answers, and the F1 that the candidates allow."""
Reads = Annotated[int, Range(1, 1_000)]
PART = "weights"
PLAN = ("last", "steps", "length")


@dataclass(frozen=True, slots=True)
class ReaderConfig(Ranged):
    """encoder: of questions and relations, by name or path; it stays as it is. power: of n candidates of a question
    each weighs 1 / n^power. learn_paths: learn which relation paths questions ask for. reads: items of a question's
    evidence that are read, in training and later."""

    encoder: str = "all-MiniLM-L6-v2"
    power: Share = 1.0
    learn_paths: bool = True
    reads: Reads = READS


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderDescription(ModelDescription):
    """What ``reader.json`` says. features: names, in order. sources: names of what each row of the weights is of.
    reads: as in `ReaderConfig`."""

    kind: ClassVar[str] = "reader"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    features: tuple[str, ...]
    sources: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    reads: Reads = READS


def _train(config: ReaderConfig, inputs: Inputs[ReaderTrainingSet]) -> Training:
    def outcome(_: Mapping[str, Any]) -> Outcome:
        if not any(each.is_right.any() for each in inputs.train):
            raise NothingToLearnError("no question to learn from has a right answer among its candidates")
        reader = fit_reader(inputs.train, power=config.power, learn_paths=config.learn_paths)
        dev = {each.name: figures(each, reader) for each in inputs.dev}
        said: dict[str, Any] = {"encoder": config.encoder, "features": tuple(NAMES), "reads": config.reads}
        said["sources"] = tuple(reader.sources)
        return Outcome({PART: partial(_write, reader)}, (1.0, 0.0), said, dev)

    return Training((), outcome)


def _write(reader: Reader, part: Path) -> None:
    import torch

    from ..training.checkpoint import write_weights

    each = list(reader.sources.values())
    columns = {
        "weights": np.stack([one.weights for one in each]),
        "bias": np.array([*(one.bias for one in each), reader.bias]),
        "share": np.array([one.share for one in each]),
        "answers": reader.calibration,
    }
    if reader.plan is not None:
        columns |= {name: getattr(reader.plan, name) for name in PLAN}
    write_weights({name: torch.from_numpy(column.copy()) for name, column in columns.items()}, part)


def _open(folder: Path, _opening: CheckpointOpenOptions) -> tuple[ReaderDescription, Reader]:
    from ..training.checkpoint import check_checkpoint, read_weights, translate_read_errors

    description = check_checkpoint(folder, ReaderDescription, lambda said: said.parts)
    with translate_read_errors(folder / PART):
        columns = {name: each.double().numpy() for name, each in read_weights(folder / PART).items()}
        num = len(description.sources)
        if description.features != tuple(NAMES) or columns["weights"].shape != (num, len(NAMES)):
            raise ValueError("its weights are of other features than those that are computed here")
        if columns["bias"].shape != (num + 1,) or columns["share"].shape != (num,):
            raise ValueError("its weights are of another number of sources")
        if "answers" not in columns or columns["answers"].shape != (len(ANSWER_FEATURES) + 1,):
            raise ValueError("its confidence is computed in another way: train it again")
        sources = {
            name: SourceWeights(columns["weights"][row], float(columns["bias"][row]), float(columns["share"][row]))
            for row, name in enumerate(description.sources)
        }
        plan = PathPlan(*(columns[name].astype(np.float32) for name in PLAN)) if PLAN[0] in columns else None
        bias = float(columns["bias"][-1])
    return description, Reader(sources, bias, columns["answers"], plan, trained=True)


def _about(description: ReaderDescription) -> tuple[str, str]:
    return (
        f"Scores the candidates of evidence by {len(description.features)} features of each way to them: logistic "
        f"regression. Sources: {', '.join(description.sources)}. Encoder of questions and relations: "
        f"`{description.encoder}`, not trained.",
        "Use it with `--set answerer.kind=reader --set answerer.checkpoint=FOLDER`, with the recipe it was trained "
        "with.",
    )


KIND: ModelKind[ReaderConfig, ReaderDescription, ReaderTrainingSet, tuple[ReaderDescription, Reader]] = ModelKind(
    name="reader",
    title="Reader",
    summary="Train what chooses answers from the evidence of a recipe, without a language model.",
    learns_from=READINGS,
    config=ReaderConfig,
    description=ReaderDescription,
    train=_train,
    open=_open,
    about=_about,
    figures=FIGURES,
    examples=(
        "lodestar train reader --recipe similarity --dataset train.jsonl.gz --dev dev.jsonl.gz --out reader",
        'lodestar ask --set answerer.kind=reader --set answerer.checkpoint=reader "Where was Lincoln born?"',
    ),
)
