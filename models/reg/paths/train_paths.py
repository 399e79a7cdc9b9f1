"""Train ReG@Path's small decoder of relation paths."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch

from ...mined.pool import Pool, supervision_of
from ...training.calibration import fitted
from ...training.checkpoint import write_weights
from ...training.kind import Inputs, Outcome, Phase, Training
from ...training.loop import Trained
from .config import PART, PathConfig
from .learning import DecoderObjective, examples_of
from .network import PathDecoder
from .vocabulary import Vocabulary

PHASE = "path decoder"


def decoder_training(config: PathConfig, inputs: Inputs[Pool]) -> Training:
    """Return the training of the decoder. `inputs.beside`: the `Vocabulary` of the graph's relations."""
    vocabulary: Vocabulary = inputs.beside
    encode = inputs.vectors_of(config.encoder).encoder.encode
    learned: list[tuple[DecoderObjective, int]] = []

    def objective() -> DecoderObjective:
        dimension = encode(vocabulary.texts[:1]).shape[1]
        network = PathDecoder(dimension, config.hidden).to(torch.device(inputs.device))
        train, dev = (examples_of(pools, vocabulary) for pools in (inputs.train, inputs.dev))
        learned.append((DecoderObjective(network, train, dev, vocabulary, encode, config), dimension))
        return learned[0][0]

    def outcome(_trained: Mapping[str, Trained]) -> Outcome:
        objective, dimension = learned[0]
        fields = {"encoder": config.encoder, "dimension": dimension, "hidden": config.hidden}
        parts = {PART: partial(write_weights, objective.network.state_dict())}
        return Outcome(parts, fitted(objective.calibration_pairs()), fields)

    depends_on = {key: value for key, value in config.as_json().items() if key != "training"}
    return Training(
        [Phase(PHASE, PART, config.training, depends_on, objective)],
        outcome,
        identity={"supervision": supervision_of(inputs.train)},
    )
