"""ReG@Triple's training, from subgraphs to a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..training.calibration import fitted
from ..training.card import model_card
from ..training.checkpoint import write_weights
from ..training.loop import Trained
from ..training.trainer import Phase, Result, Trainer, Watcher, trained_in
from .checkpoint import PART, TripleDescription
from .config import TripleConfig
from .distances import encoding_width
from .graphs import QuestionGraphs, supervision_of
from .inputs import Encode, EncodedGraphs
from .judging import NAMES, calibration_pairs
from .learning import TripleObjective
from .network import TripleScorer

PHASE = "triple scorer"


def train_triples(
    config: TripleConfig,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    encode: Encode,
    folder: Path,
    *,
    revision: str = "",
    watcher: Watcher | None = None,
) -> TripleDescription:
    """Train, write the checkpoint to `folder`, and return its description.

    See `trained_in`: it is taken up where it was stopped, and replaces no other training.
    """
    made: list[tuple[TripleObjective, int]] = []
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def objective() -> TripleObjective:
        train, dev = (
            [EncodedGraphs(graphs, encode, config.num_rounds, device) for graphs in each]
            for each in (train_on, choose_on)
        )
        network = TripleScorer(train[0].dimension, encoding_width(config.num_rounds), config.hidden).to(device)
        made.append((TripleObjective(network, train, dev, config), train[0].dimension))
        return made[0][0]

    options = config.as_json()
    asked: dict[str, Any] = {
        "config": options,
        "train": tuple(graphs.trained_on for graphs in train_on),
        "dev": tuple(graphs.trained_on for graphs in choose_on),
        "supervision": supervision_of(train_on),
    }

    def result(trained: Mapping[str, Trained]) -> Result[TripleDescription]:
        learned, dimension = made[0]
        description = TripleDescription(
            **asked,
            encoder=config.encoder,
            dimension=dimension,
            hidden=config.hidden,
            num_rounds=config.num_rounds,
            subgraph=config.subgraph,
            calibration=fitted(calibration_pairs(learned.ranked())),
            figures={name: each.history[each.best_epoch] for name, each in trained.items()},
            seconds={name: each.seconds for name, each in trained.items()},
            revision=revision,
        )
        return Result(
            description, {PART: partial(write_weights, learned.network.state_dict())}, _card(description, trained)
        )

    depends_on = {key: value for key, value in options.items() if key != "training"}
    data = {"train": [graphs.sha256 for graphs in train_on], "dev": [graphs.sha256 for graphs in choose_on]}
    phase = Phase(PHASE, PART, config.training, depends_on, objective)
    return trained_in(folder, Trainer(TripleDescription, asked, data, [phase], result), watcher or Watcher())


def _card(description: TripleDescription, trained: Mapping[str, Trained]) -> str:
    about = (
        "Scores the triples of a question's subgraph, after ReG@Triple (an MLP over text embeddings and directional "
        f"distance encodings). Encoder: `{description.encoder}`, not trained; supervision: {description.supervision}.",
        "Use it with `lodestar ask --recipe reg-triple --checkpoint FOLDER`, on the graph it was trained on. The "
        "figures below are the share of right triples among the best k of each dev question.",
    )
    return model_card("ReG triple scorer", about, description, trained, NAMES, {})
