"""The weighing of candidates by a trained network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ...models.linker.config import LinkerDescription
from ...models.linker.training import CandidateScorer
from ..errors import CheckpointError
from ..values import Topic, check_finite
from .deciding import TRAINED_FEATURES, trained_features
from .relation_evidence import Floats


class TrainedWeighing:
    """A `Weighing` by a checkpoint of `lodestar train linker`."""

    def __init__(self, description: LinkerDescription, network: CandidateScorer) -> None:
        self.description = description
        self._network = network

    def probabilities(self, found: Sequence[Topic], relations: Floats) -> Floats:
        """Return the probability of each candidate: the calibrated one of its logit."""
        slope, intercept = self.description.calibration
        with torch.no_grad():
            logits = self._network(torch.from_numpy(trained_features(found, relations).astype(np.float32)))
        check_finite(logits.numpy(), "a checkpoint of kind linker")
        probability: Floats = 1 / (1 + np.exp(-(slope * logits.numpy().astype(np.float64) + intercept)))
        return probability


def trained_weighing(folder: str, description: LinkerDescription, network: CandidateScorer) -> TrainedWeighing:
    """Return the weighing by a checkpoint's network; raise `CheckpointError` where it has other features."""
    if description.features != TRAINED_FEATURES:
        raise CheckpointError(
            f"{folder} was trained on other features than Lodestar has: train it again with `lodestar train linker`"
        )
    return TrainedWeighing(description, network)
