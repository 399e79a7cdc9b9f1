"""GRIL's training as the command line asks for it: its configuration and its errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ...models.gril.checkpoint import GrilDescription
from ...models.gril.config import GrilConfig
from ...models.gril.train_retriever import train_retriever
from ...models.reg.graphs import QuestionGraphs
from ...models.text_vectors import TextVectors
from ...models.training.trainer import Watcher
from ..code_hash import code_sha256
from ..resolving import change, filled
from .question_graphs import learning_from
from .running import training_in


def gril_config(
    changes: Sequence[str], *, encoder: str | None, epochs: int | None, seed: int, reader: str | None = None
) -> GrilConfig:
    """Return the configuration with what the command line changes; raise `UsageError` for an unknown option."""
    data = json.loads(json.dumps(GrilConfig().as_json()))
    for phase in ("training", "hop_training", "joint_training"):
        data[phase]["seed"] = seed
        if epochs is not None and phase != "hop_training":
            data[phase]["epochs"] = epochs
    if reader:
        data["joint"]["reader"] = reader
    if encoder:
        data["encoder"] = encoder
    for said in changes:
        change(data, said, "training.epochs=5")
    return filled(GrilConfig, data, "train gril")


def trained_gril(
    config: GrilConfig,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    vectors: TextVectors,
    folder: Path,
    *,
    fresh: bool,
    watcher: Watcher,
) -> GrilDescription:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises what `learning_from` and `training_in` raise.
    """
    with learning_from(train_on, choose_on), training_in(folder, GrilDescription, fresh=fresh) as is_first:
        return train_retriever(
            config,
            train_on,
            choose_on,
            vectors.encoder.encode,
            folder,
            revision=code_sha256(),
            watcher=watcher if is_first else None,
        )
