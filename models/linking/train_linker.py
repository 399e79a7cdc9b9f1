"""The linker's training, from candidates to a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..training.calibration import fitted
from ..training.card import model_card
from ..training.checkpoint import write_weights
from ..training.loop import Trained
from ..training.trainer import Phase, Result, Trainer, Watcher, trained_in
from .candidates import LinkedCandidates
from .checkpoint import PART, LinkerDescription
from .config import LinkerConfig
from .learning import NAMES, LinkerObjective
from .network import CandidateScorer

PHASE = "linker"


def train_linker(
    config: LinkerConfig,
    features: Sequence[str],
    train_on: Sequence[LinkedCandidates],
    choose_on: Sequence[LinkedCandidates],
    folder: Path,
    *,
    revision: str = "",
    watcher: Watcher | None = None,
) -> LinkerDescription:
    """Train, write the checkpoint to `folder`, and return its description; `features` are the names of the columns.

    See `trained_in`: it is taken up where it was stopped, and replaces no other training.
    """
    made: list[LinkerObjective] = []

    def objective() -> LinkerObjective:
        made.append(LinkerObjective(CandidateScorer(len(features), config.hidden), train_on, choose_on, config))
        return made[0]

    asked: dict[str, Any] = {
        "config": config.as_json(),
        "train": tuple(each.trained_on for each in train_on),
        "dev": tuple(each.trained_on for each in choose_on),
    }

    def result(trained: Mapping[str, Trained]) -> Result[LinkerDescription]:
        scored = [
            (float(logit), float(right))
            for logits, rights, _ in made[0].scored()
            for logit, right in zip(logits, rights, strict=True)
        ]
        description = LinkerDescription(
            **asked,
            encoder=config.encoder,
            features=tuple(features),
            hidden=config.hidden,
            candidates=config.candidates,
            calibration=fitted(scored),
            figures={name: each.history[each.best_epoch] for name, each in trained.items()},
            seconds={name: each.seconds for name, each in trained.items()},
            revision=revision,
        )
        network = made[0].network
        return Result(description, {PART: partial(write_weights, network.state_dict())}, _card(description, trained))

    depends_on = {"features": list(features), **{k: v for k, v in config.as_json().items() if k != "training"}}
    data = {"train": [each.data_sha256 for each in train_on], "dev": [each.data_sha256 for each in choose_on]}
    phase = Phase(PHASE, PART, config.training, depends_on, objective)
    return trained_in(folder, Trainer(LinkerDescription, asked, data, [phase], result), watcher or Watcher())


def _card(description: LinkerDescription, trained: Mapping[str, Trained]) -> str:
    about = (
        "Says how likely a question is about an entity that its words may mean: a network with one hidden layer over "
        f"{len(description.features)} features of the mention, the entity, its rivals and the relations at it. Encoder "
        f"of relations and questions: `{description.encoder}`, not trained.",
        "Use it with `--set linker.kind=trained --set linker.checkpoint=FOLDER`. The figures below are the mean share "
        "of a dev question's topics among its first candidates, and the cross-entropy of a candidate.",
    )
    return model_card("Entity linker", about, description, trained, NAMES, {})
