"""Train the linker's network over the candidates of questions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..training.calibration import fitted
from ..training.checkpoint import write_weights
from ..training.kind import Inputs, Outcome, Phase, Training
from ..training.loop import Trained
from .candidates import LinkedCandidates
from .config import PART, LinkerConfig
from .learning import LinkerObjective
from .network import CandidateScorer

PHASE = "linker"


def linker_training(config: LinkerConfig, inputs: Inputs[LinkedCandidates]) -> Training:
    """Return the training of one network over the features of candidates."""
    features = inputs.train[0].feature_names
    learned: list[LinkerObjective] = []

    def objective() -> LinkerObjective:
        network = CandidateScorer(len(features), config.hidden).to(inputs.device)
        learned.append(LinkerObjective(network, inputs.train, inputs.dev, config))
        return learned[0]

    def outcome(_trained: Mapping[str, Trained]) -> Outcome:
        scored = [
            (float(logit), float(right))
            for logits, rights, _ in learned[0].scored()
            for logit, right in zip(logits, rights, strict=True)
        ]
        fields = {
            "encoder": config.encoder,
            "features": features,
            "hidden": config.hidden,
            "candidates": config.candidates,
        }
        return Outcome({PART: partial(write_weights, learned[0].network.state_dict())}, fitted(scored), fields)

    depends_on = {"features": list(features), **{k: v for k, v in config.as_json().items() if k != "training"}}
    return Training([Phase(PHASE, PART, config.training, depends_on, objective)], outcome)
