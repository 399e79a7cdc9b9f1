"""The training of a scorer of subgraphs, ReG@Triple's or ReG@Entity's, from subgraphs to a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from ..training.calibration import fitted
from ..training.card import model_card
from ..training.checkpoint import write_weights
from ..training.loop import Trained
from ..training.trainer import Phase, Result, Trainer, Watcher, trained_in
from .checkpoint import ScorerDescription
from .config import ScorerConfig
from .graphs import QuestionGraphs, supervision_of
from .inputs import Encode, EncodedGraphs
from .judging import NAMES, calibration_pairs
from .learning import SubgraphObjective

ConfigT = TypeVar("ConfigT", bound=ScorerConfig)
ScorerDescriptionT = TypeVar("ScorerDescriptionT", bound=ScorerDescription)

Sets = Sequence[EncodedGraphs]


@dataclass(frozen=True, slots=True)
class Scorer(Generic[ConfigT, ScorerDescriptionT]):
    """What a scorer has of its own. title, about: of the model card, with the encoder and the supervision filled in.
    defaults: its options. objective: of a network for what is learned from and chosen by. own: fields of its
    description beside the common ones."""

    description: type[ScorerDescriptionT]
    defaults: ConfigT
    title: str
    about: tuple[str, ...]
    objective: Callable[[ConfigT, Sets, Sets, torch.device], SubgraphObjective]
    own: Callable[[ConfigT, SubgraphObjective], Mapping[str, Any]] = lambda *_: {}


def train_scorer(
    scorer: Scorer[ConfigT, ScorerDescriptionT],
    config: ConfigT,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    encode: Encode,
    folder: Path,
    *,
    revision: str = "",
    watcher: Watcher | None = None,
) -> ScorerDescriptionT:
    """Train, write the checkpoint to `folder`, and return its description.

    See `trained_in`: it is taken up where it was stopped, and replaces no other training.
    """
    made: list[SubgraphObjective] = []
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def objective() -> SubgraphObjective:
        train, dev = (
            [EncodedGraphs(graphs, encode, config.num_rounds, device) for graphs in each]
            for each in (train_on, choose_on)
        )
        made.append(scorer.objective(config, train, dev, device))
        return made[0]

    options = config.as_json()
    asked: dict[str, Any] = {
        "config": options,
        "train": tuple(graphs.trained_on for graphs in train_on),
        "dev": tuple(graphs.trained_on for graphs in choose_on),
        "supervision": supervision_of(train_on),
    }

    def result(trained: Mapping[str, Trained]) -> Result[ScorerDescriptionT]:
        (learned,) = made
        description = scorer.description(
            **asked,
            **scorer.own(config, learned),
            encoder=config.encoder,
            dimension=learned.train[0].dimension,
            hidden=config.hidden,
            num_rounds=config.num_rounds,
            subgraph=config.subgraph,
            calibration=fitted(calibration_pairs(learned.ranked())),
            figures={name: each.history[each.best_epoch] for name, each in trained.items()},
            seconds={name: each.seconds for name, each in trained.items()},
            revision=revision,
        )
        about = [text.format(encoder=config.encoder, supervision=description.supervision) for text in scorer.about]
        card = model_card(f"ReG {scorer.title}", about, description, trained, NAMES, {})
        return Result(description, {part: partial(write_weights, learned.network.state_dict())}, card)

    (part,) = scorer.description.parts
    depends_on = {key: value for key, value in options.items() if key != "training"}
    data = {"train": [graphs.sha256 for graphs in train_on], "dev": [graphs.sha256 for graphs in choose_on]}
    phase = Phase(scorer.title, part, config.training, depends_on, objective)
    return trained_in(folder, Trainer(scorer.description, asked, data, [phase], result), watcher or Watcher())
