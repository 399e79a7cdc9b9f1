"""ReG@Entity's training, from subgraphs to a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ...training.calibration import fitted
from ...training.card import model_card
from ...training.checkpoint import write_weights
from ...training.loop import Trained
from ...training.trainer import Phase, Result, Trainer, Watcher, trained_in
from ..distances import encoding_width
from ..graphs import QuestionGraphs, supervision_of
from ..inputs import Encode, EncodedGraphs
from ..judging import NAMES, calibration_pairs
from .checkpoint import PART, EntityDescription
from .config import EntityConfig
from .learning import EntityObjective, degree_histogram
from .network import EntityScorer

PHASE = "entity scorer"


def train_entities(
    config: EntityConfig,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    encode: Encode,
    folder: Path,
    *,
    revision: str = "",
    watcher: Watcher | None = None,
) -> EntityDescription:
    """Train, write the checkpoint to `folder`, and return its description.

    See `trained_in`: it is taken up where it was stopped, and replaces no other training.
    """
    made: list[tuple[EntityObjective, int, tuple[int, ...]]] = []
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def objective() -> EntityObjective:
        train, dev = (
            [EncodedGraphs(graphs, encode, config.num_rounds, device) for graphs in each]
            for each in (train_on, choose_on)
        )
        degrees = degree_histogram(train)
        width = encoding_width(config.num_rounds)
        network = EntityScorer(train[0].dimension, width, config.hidden, config.num_layers, degrees).to(device)
        made.append((EntityObjective(network, train, dev, config), train[0].dimension, degrees))
        return made[0][0]

    options = config.as_json()
    asked: dict[str, Any] = {
        "config": options,
        "train": tuple(graphs.trained_on for graphs in train_on),
        "dev": tuple(graphs.trained_on for graphs in choose_on),
        "supervision": supervision_of(train_on),
    }

    def result(trained: Mapping[str, Trained]) -> Result[EntityDescription]:
        learned, dimension, degrees = made[0]
        description = EntityDescription(
            **asked,
            encoder=config.encoder,
            dimension=dimension,
            hidden=config.hidden,
            num_layers=config.num_layers,
            num_rounds=config.num_rounds,
            degrees=degrees,
            subgraph=config.subgraph,
            calibration=fitted(calibration_pairs(learned.ranked())),
            figures={name: each.history[each.best_epoch] for name, each in trained.items()},
            seconds={name: each.seconds for name, each in trained.items()},
            revision=revision,
        )
        weights = partial(write_weights, learned.network.state_dict())
        return Result(description, {PART: weights}, _card(description, trained))

    depends_on = {key: value for key, value in options.items() if key != "training"}
    data = {"train": [graphs.sha256 for graphs in train_on], "dev": [graphs.sha256 for graphs in choose_on]}
    phase = Phase(PHASE, PART, config.training, depends_on, objective)
    return trained_in(folder, Trainer(EntityDescription, asked, data, [phase], result), watcher or Watcher())


def _card(description: EntityDescription, trained: Mapping[str, Trained]) -> str:
    about = (
        "Scores the entities of a question's subgraph, after ReG@Entity (principal neighbourhood aggregation over text "
        f"embeddings and directional distance encodings). Encoder: `{description.encoder}`, not trained; supervision: "
        f"{description.supervision}.",
        "Use it with `lodestar ask --recipe reg-entity --checkpoint FOLDER`, on the graph it was trained on. A triple "
        "is worth the mean of its two entities. The figures below are the share of right triples, and of right "
        "answers, among the best k of each dev question.",
    )
    return model_card("ReG entity scorer", about, description, trained, NAMES, {})
