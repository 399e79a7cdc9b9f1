"""Train STAR: first the dual encoder, then the cross-attentive scorer over its shortlist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..training.kind import Inputs, Outcome, Phase, Training
from ..training.trainer import TrainingResult, fit_calibration
from .backbone import open_pretrained
from .batches import CachedTokenizer
from .config import StarConfig
from .examples import Floats, QuestionExample, examples_of, mark_remaining_paths
from .mined import MinedFile
from .networks import CrossAttentiveScorer, DualEncoder, Network
from .objectives import DualObjective, PoolObjective, mix_shortlist_scores

UNANSWERABLE = 0.2
"""The weight of the questions taken as unanswerable. Our own choice."""
DUAL, CROSS = "dual encoder", "cross-attentive scorer"
"""The phases, by their display names."""


def star_training(config: StarConfig, inputs: Inputs[MinedFile]) -> Training:
    """Return the training: the dual encoder, then the cross-attentive scorer if `config` asks for it."""
    star = _Star(config, inputs)
    options = config.as_json()
    before: dict[str, Any] = {key: options[key] for key in ("encoder", "mix", "dual")}
    before |= {"dual_training": config.dual_training.as_json(), "options": options["cross"]}
    own = {"encoder": config.encoder, "options": options["dual"]}
    phases = [
        Phase(DUAL, "dual", config.dual_training, own, star.dual_objective),
        Phase(CROSS, "cross", config.cross_training, before, star.cross_objective),
    ]

    def outcome(trained: Mapping[str, TrainingResult]) -> Outcome:
        mix = trained[CROSS].best["mix"] if CROSS in trained else 0.0
        fields = {
            "scorer": config.scorer,
            "encoder": config.encoder,
            "mix": mix,
            "shortlist": config.cross.shortlist,
        }
        parts = {name: network.write for name, network in star.networks.items()}
        return Outcome(parts, star.calibration(mix), fields)

    return Training(phases if config.scorer == "cross" else phases[:1], outcome)


class _Star:
    """Both networks and their data: the dual encoder makes the cross-attentive scorer's shortlists."""

    def __init__(self, config: StarConfig, inputs: Inputs[MinedFile]) -> None:
        self.networks: dict[str, Network] = {}
        self._config = config
        self._inputs = inputs
        self._cross: PoolObjective | None = None

    def dual_objective(self) -> DualObjective:
        """Return the dual encoder's objective."""
        config = self._config
        self._train, self._dev = (list(map(examples_of, files)) for files in (self._inputs.train, self._inputs.dev))
        backbone = open_pretrained(config.encoder)
        network = DualEncoder(backbone).to(self._inputs.device)
        network.precision = config.dual_training.dtype
        self.networks["dual"] = Network(backbone, network)
        self._dual = DualObjective(
            network,
            CachedTokenizer(backbone.tokenizer),
            self._train,
            self._dev,
            config.dual,
            config.dual_training,
        )
        return self._dual

    def cross_objective(self) -> PoolObjective:
        """Return the cross-attentive scorer's objective; the dual encoder must be trained."""
        config = self._config
        backbone = open_pretrained(config.encoder)
        network = CrossAttentiveScorer(backbone).to(self._inputs.device)
        network.precision = config.cross_training.dtype
        self.networks["cross"] = Network(backbone, network)
        self._cross = PoolObjective(
            network,
            CachedTokenizer(backbone.tokenizer),
            self._train,
            self._dev,
            [[stop for _, stop in self._dual.iterate_stop_scores(examples)] for examples in self._dev],
            config.cross,
            config.cross_training,
            mix=config.mix,
        )
        return self._cross

    def iterate_scores(self, mix: float) -> Iterator[tuple[QuestionExample, Floats]]:
        """Yield each dev example with the scores of its paths by all trained networks."""
        if self._cross:
            for example, stop, scores, rows in self._cross.iterate_shortlist_scores():
                yield example, mix_shortlist_scores(stop, scores, rows, mix)
        else:
            for examples in self._dev:
                yield from self._dual.iterate_stop_scores(examples)

    def calibration(self, mix: float) -> tuple[float, float]:
        """Return slope and intercept of the first path's probability, fitted on the dev questions and, with a fifth of
        the weight, on the same questions without the relations that lead to their answers.
        """
        tables = {id(example): examples.table for examples in self._dev for example in examples.examples}
        answerable: list[tuple[float, float]] = []
        bare: list[tuple[float, float]] = []
        for example, scores in self.iterate_scores(mix):
            first = int(np.argmax(scores))
            answerable.append((float(scores[first]), float(example.f1[first] > 0)))
            left = mark_remaining_paths(example, tables[id(example)])
            if left.any():
                bare.append((float(scores[left].max()), 0.0))
        if not bare:  # in a graph of one relation nothing is left to answer with
            return fit_calibration(answerable)
        weights = [(1 - UNANSWERABLE) / len(answerable)] * len(answerable)
        weights += [UNANSWERABLE / len(bare)] * len(bare)
        return fit_calibration([*answerable, *bare], weights)
