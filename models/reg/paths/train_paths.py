"""ReG@Path's training, from candidate pools to a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ...mined.pool import Pool
from ...training.calibration import fitted
from ...training.card import model_card
from ...training.checkpoint import write_weights
from ...training.description import TrainedOn
from ...training.loop import Trained
from ...training.trainer import Phase, Result, Trainer, Watcher, trained_in
from ..inputs import Encode
from .checkpoint import PART, PathDescription
from .config import PathConfig
from .learning import NAMES, DecoderObjective, examples_of
from .network import PathDecoder
from .vocabulary import Vocabulary

PHASE = "path decoder"
MAX_STEPS = 4
"""Of a shortest path in a pool."""


def train_paths(
    config: PathConfig,
    train_on: Sequence[Pool],
    choose_on: Sequence[Pool],
    vocabulary: Vocabulary,
    encode: Encode,
    folder: Path,
    *,
    revision: str = "",
    watcher: Watcher | None = None,
) -> PathDescription:
    """Train, write the checkpoint to `folder`, and return its description. vocabulary: of the graph's relations.

    See `trained_in`: it is taken up where it was stopped, and replaces no other training.
    """
    made: list[tuple[DecoderObjective, int]] = []
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def objective() -> DecoderObjective:
        dimension = encode(vocabulary.texts[:1]).shape[1]
        network = PathDecoder(dimension, config.hidden).to(device)
        train, dev = (examples_of(pools, vocabulary) for pools in (train_on, choose_on))
        made.append((DecoderObjective(network, train, dev, vocabulary, encode, config), dimension))
        return made[0][0]

    options = config.as_json()
    asked: dict[str, Any] = {
        "config": options,
        "train": tuple(map(trained_on, train_on)),
        "dev": tuple(map(trained_on, choose_on)),
        "supervision": supervision_of(train_on),
    }

    def result(trained: Mapping[str, Trained]) -> Result[PathDescription]:
        learned, dimension = made[0]
        description = PathDescription(
            **asked,
            encoder=config.encoder,
            dimension=dimension,
            hidden=config.hidden,
            calibration=fitted(learned.calibration_pairs()),
            figures={name: each.history[each.best_epoch] for name, each in trained.items()},
            seconds={name: each.seconds for name, each in trained.items()},
            revision=revision,
        )
        weights = partial(write_weights, learned.network.state_dict())
        return Result(description, {PART: weights}, _card(description, trained))

    depends_on = {key: value for key, value in options.items() if key != "training"}
    data = {"train": [pool.sha256 for pool in train_on], "dev": [pool.sha256 for pool in choose_on]}
    phase = Phase(PHASE, PART, config.training, depends_on, objective)
    return trained_in(folder, Trainer(PathDescription, asked, data, [phase], result), watcher or Watcher())


def trained_on(pool: Pool) -> TrainedOn:
    """Return what a checkpoint says of a pool that it learned from, or was chosen on."""
    header = pool.header
    return TrainedOn(
        header.questions, header.questions_sha256, pool.sha256, header.graph, len(pool.questions), MAX_STEPS
    )


def supervision_of(pools: Sequence[Pool]) -> str:
    """Return what says which paths of these pools are right, in words."""
    said = (f"refined by {pool.header.refiner}" if pool.header.refiner else "weak" for pool in pools)
    return ", ".join(dict.fromkeys(said))


def _card(description: PathDescription, trained: Mapping[str, Trained]) -> str:
    about = (
        "Writes relation paths that lead from a question's topic to its answers, after ReG@Path, with a small decoder "
        f"in place of a language model. Encoder: `{description.encoder}`, not trained; supervision: "
        f"{description.supervision}.",
        "Use it with `lodestar ask --recipe reg-path --checkpoint FOLDER`, on the graph it was trained on. The figures "
        "below are the mean log-likelihood of the right paths of dev questions, and the share of dev questions of "
        "whose candidates a right one is the likeliest.",
    )
    return model_card("ReG path decoder", about, description, trained, NAMES, {})
