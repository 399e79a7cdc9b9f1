"""STAR's training as the command line asks for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ...models.star.checkpoint import Description
from ...models.star.config import PAPER, StarConfig, seeded, with_training
from ...models.star.inputs.pairs import RelationPairs
from ...models.star.mined import Mined
from ...models.star.train_star import train_star
from ...models.training.trainer import Watcher
from ..code_hash import code_sha256
from ..resolving import change, filled
from .mined_sets import check_apart
from .running import training_in

PRESETS = {"best": StarConfig(), "paper": PAPER}


def star_config(
    preset: str,
    changes: Sequence[str],
    *,
    scorer: str | None,
    encoder: str | None,
    epochs: int | None = None,
    seed: int,
) -> StarConfig:
    """Return a preset with what the command line changes, `changes` last; raise `UsageError` for an unknown option."""
    config = seeded(PRESETS[preset], seed)
    if epochs is not None:
        config = with_training(config, {"epochs": epochs})
    data = json.loads(json.dumps(config.as_json()))
    data |= {name: value for name, value in (("scorer", scorer), ("encoder", encoder)) if value}
    for said in changes:
        change(data, said, "cross_training.epochs=5")
    return filled(StarConfig, data, "train star")


def trained(
    config: StarConfig,
    train_on: Sequence[Mined],
    choose_on: Sequence[Mined],
    folder: Path,
    *,
    pairs: RelationPairs | None,
    any_graph: bool = False,
    fresh: bool,
    watcher: Watcher,
) -> Description:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises `UsageError` for sets that have questions in common, and what `training_in` raises.
    """
    check_apart(train_on, choose_on)
    with training_in(folder, Description, fresh=fresh) as is_first:
        return train_star(
            config,
            train_on,
            choose_on,
            folder,
            pairs=pairs,
            any_graph=any_graph,
            revision=code_sha256(),
            watcher=watcher if is_first else None,
        )
