"""Trainings of every kind on sets that a test made, on the processor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from lodestar.engine.training.running import train_in_folder
from lodestar.models.gril.readers import ReaderTarget
from lodestar.models.subgraphs import QuestionLabels
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training.kind import AnyKind, DescriptionT, Inputs, ModelKind
from lodestar.models.training.trainer import TrainingCallbacks, train_model
from lodestar.models.whole_file import file_sha256
from safetensors.torch import load_file, save_file


class Encoding:
    """Text vectors of which only the encoder's `encode` is there."""

    weights_digest = None

    def __init__(self, encode: Callable[..., Any]) -> None:
        self.encode = encode

    @property
    def encoder(self) -> Encoding:
        return self


def inputs_of(
    train: Sequence[Any], dev: Sequence[Any], vectors: Any = None, beside: Any = None, *, any_graph: bool = False
) -> Inputs[Any]:
    """Return the inputs of a training; `vectors` of one encoder, else of any by its name."""
    return Inputs(
        train,
        dev,
        "cpu",
        lambda name: TextVectors(SentenceEncoder(name)) if vectors is None else vectors,
        beside,
        any_graph,
    )


def labels_of(wanted: Mapping[str, ReaderTarget]) -> list[QuestionLabels]:
    """Return what a question set would say of questions for a reader to learn this."""
    return [QuestionLabels("set", id_, each.answers, True, each.options) for id_, each in wanted.items()]


def train_sets(
    kind: ModelKind[Any, DescriptionT, Any, Any],
    config: Any,
    train: Sequence[Any],
    dev: Sequence[Any],
    folder: Path,
    *,
    encode: Callable[..., Any] | None = None,
    beside: Any = None,
    any_graph: bool = False,
    watcher: TrainingCallbacks | None = None,
) -> DescriptionT:
    """Train a model in a folder."""
    vectors = None if encode is None else Encoding(encode)
    inputs = inputs_of(train, dev, vectors, beside, any_graph=any_graph)
    return train_model(kind, config, inputs, folder, watcher=watcher)


def train_in(
    kind: AnyKind,
    config: Any,
    train: Sequence[Any],
    dev: Sequence[Any],
    folder: Path,
    *,
    vectors: TextVectors | None = None,
    beside: Any = None,
    fresh: bool = False,
    watcher: TrainingCallbacks | None = None,
) -> Any:
    """Train as the command line does: one training at a time in a folder, errors in one line."""
    return train_in_folder(
        kind, config, inputs_of(train, dev, vectors, beside), folder, fresh=fresh, watching=lambda: nullcontext(watcher)
    )


def grow_weights(checkpoint: str | Path, to: Path, factor: float = 1e30) -> str:
    """Copy a checkpoint with all weights so many times as large, every one of them finite; return where it is."""
    shutil.copytree(checkpoint, to)
    (path,) = (path for path in to.glob("*.json") if "files" in json.loads(path.read_text(encoding="utf-8")))
    said = json.loads(path.read_text(encoding="utf-8"))
    for name in said["files"]:
        if name.endswith(".safetensors"):
            weights = load_file(to / name)
            save_file(
                {key: value * factor if value.is_floating_point() else value for key, value in weights.items()},
                to / name,
            )
            said["files"][name] = file_sha256(to / name)
    path.write_text(json.dumps(said), encoding="utf-8")
    return str(to)
