"""STAR's training, from mined files to a checkpoint: the dual encoder first, then the scorer over its shortlist."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..training.calibration import fitted
from ..training.loop import Trained, TrainingOptions, train
from ..training.objective import Objective
from ..training.processes import shard
from .card import model_card
from .checkpoint import (
    CheckpointError,
    Description,
    Network,
    TrainedOn,
    read_description,
    write_checkpoint,
)
from .config import StarConfig
from .inputs.examples import Example, ExampleSet, Floats, examples_of
from .inputs.pairs import RelationPairs
from .inputs.texts import Texts
from .learning.dual_objective import DualObjective
from .learning.pool_objective import PoolObjective
from .learning.readers import CrossReader
from .mined import Mined
from .mixing import mixed
from .networks.backbone import pretrained_backbone
from .networks.cross_encoder import CrossAttentiveScorer
from .networks.dual_encoder import DualEncoder

DUAL, CROSS = "dual encoder", "cross-attentive scorer"
PARTS = {DUAL: "dual", CROSS: "cross"}
"""The networks by the names they are shown with, and as files and folders are called."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """What is told while training runs: step with the network's name, the epoch, steps done and of all, the mean loss;
    epoch with the name, its number and figures."""

    step: Callable[[str, int, int, int, float], None] = lambda *_: None
    epoch: Callable[[str, int, Mapping[str, float]], None] = lambda *_: None


def train_star(
    config: StarConfig,
    train_on: Sequence[Mined],
    choose_on: Sequence[Mined],
    folder: Path,
    *,
    pairs: RelationPairs | None = None,
    revision: str = "",
    watcher: Watcher | None = None,
) -> Description:
    """Train what `config` asks for, write the checkpoint to `folder`, and return its description.

    Run again in the same folder it continues where it was stopped, and does nothing where it was finished; a finished
    checkpoint of another configuration or of other data is replaced in the end. Raises `TrainingStateError` when the
    folder has such a training under way.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if done := _finished(config, train_on, choose_on, folder, pairs):
        return done
    run = _Run(config, train_on, choose_on, folder, pairs, watcher or Watcher())
    torch.manual_seed(config.dual_training.seed)
    backbone = pretrained_backbone(config.encoder)
    dual = DualEncoder(backbone).to(run.device)
    dual_objective = DualObjective(
        dual, Texts(backbone.tokenizer), run.train, run.dev, config.dual, config.dual_training.seed, pairs
    )
    trained = {DUAL: run.trained(DUAL, dual_objective, config.dual_training)}
    networks = {PARTS[DUAL]: Network(backbone, dual)}
    figures = {DUAL: _best(trained[DUAL])}
    dev_stop = [_stops(dual_objective, examples) for examples in run.dev]
    ranked = [pair for examples, stops in zip(run.dev, dev_stop, strict=True) for pair in _paired(examples, stops)]
    mix = 0.0
    if config.scorer == "cross":
        torch.manual_seed(config.cross_training.seed)
        backbone = pretrained_backbone(config.encoder)
        cross = CrossAttentiveScorer(backbone).to(run.device)
        train_stop = [_stops(dual_objective, examples) for examples in run.train]
        cross_objective = PoolObjective(
            cross,
            CrossReader(),
            Texts(backbone.tokenizer),
            run.train,
            run.dev,
            train_stop,
            dev_stop,
            config.cross,
            config.cross_training.seed,
            mix=config.mix,
        )
        trained[CROSS] = run.trained(CROSS, cross_objective, config.cross_training)
        networks[PARTS[CROSS]] = Network(backbone, cross)
        figures[CROSS] = _best(trained[CROSS])
        mix = figures[CROSS]["mix"]
        ranked = [(e, mixed(stop, scores, rows, mix)) for e, stop, scores, rows in cross_objective.shortlisted()]
    description = Description(
        scorer=config.scorer,
        encoder=config.encoder,
        mix=mix,
        shortlist=config.cross.shortlist,
        calibration=fitted([(float(scores.max()), float(e.f1[int(np.argmax(scores))] > 0)) for e, scores in ranked]),
        config=_plain(config),
        train=tuple(map(_trained_on, train_on)),
        dev=tuple(map(_trained_on, choose_on)),
        figures=figures,
        seconds={name: each.seconds for name, each in trained.items()},
        pairs=_counted(pairs),
        revision=revision,
    )
    if shard()[0] == 0:
        write_checkpoint(folder, description, networks, model_card(description, trained))
        run.forget_states()
    return description


class _Run:
    """The data of a training, and where its state is kept."""

    def __init__(
        self,
        config: StarConfig,
        train_on: Sequence[Mined],
        choose_on: Sequence[Mined],
        folder: Path,
        pairs: RelationPairs | None,
        watcher: Watcher,
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.train = [examples_of(mined) for mined in train_on]
        self.dev = [examples_of(mined) for mined in choose_on]
        self._config = config
        self._folder = folder
        self._watcher = watcher
        self._data = {
            "train": [mined.sha256 for mined in train_on],
            "dev": [mined.sha256 for mined in choose_on],
            "pairs": pairs.sha256 if pairs else None,
        }

    def trained(self, name: str, objective: Objective, options: TrainingOptions) -> Trained:
        """Train one network, or take up its training."""
        resolved: dict[str, Any] = {"network": name, **self._data, **self._of(name), "training": options.as_json()}
        return train(
            objective,
            options,
            self._state_path(name),
            resolved,
            lambda epoch, done, total, loss: self._watcher.step(name, epoch, done, total, loss),
            lambda epoch, figures: self._watcher.epoch(name, epoch, figures),
        )

    def _of(self, name: str) -> dict[str, Any]:
        """Return what the training of a network depends on beside its own options."""
        config = self._config.as_json()
        if name == DUAL:
            return {"encoder": config["encoder"], "options": config["dual"]}
        before = {key: config[key] for key in ("encoder", "mix", "dual")}
        return before | {"dual_training": self._config.dual_training.as_json(), "options": config["cross"]}

    def _state_path(self, name: str) -> Path:
        return self._folder / f"training-{PARTS[name]}.safetensors"

    def forget_states(self) -> None:
        """Delete the states of finished trainings: the checkpoint has what they came to."""
        for name in (DUAL, CROSS):
            self._state_path(name).unlink(missing_ok=True)


def _finished(
    config: StarConfig,
    train_on: Sequence[Mined],
    choose_on: Sequence[Mined],
    folder: Path,
    pairs: RelationPairs | None,
) -> Description | None:
    """Return the description of a checkpoint in the folder that is what this training would come to."""
    try:
        found = read_description(folder)
    except CheckpointError:
        return None
    asked = (_plain(config), tuple(map(_trained_on, train_on)), tuple(map(_trained_on, choose_on)), _counted(pairs))
    return found if (found.config, found.train, found.dev, found.pairs) == asked else None


def _plain(config: StarConfig) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(config.as_json()))
    return plain


def _counted(pairs: RelationPairs | None) -> dict[str, int]:
    return {f"{pairs.name} ({pairs.sha256[:12]})": len(pairs.pairs)} if pairs else {}


def _stops(objective: DualObjective, examples: ExampleSet) -> list[Floats]:
    return [stop for _, stop in objective.scored(examples)]


def _paired(examples: ExampleSet, stops: Sequence[Floats]) -> list[tuple[Example, Floats]]:
    return list(zip(examples.examples, stops, strict=True))


def _best(trained: Trained) -> dict[str, float]:
    return trained.history[trained.best_epoch]


def _trained_on(mined: Mined) -> TrainedOn:
    mining = mined.mining
    return TrainedOn(
        mining.questions, mining.questions_sha256, mined.sha256, mining.graph, len(mined.questions), mining.max_hop
    )
