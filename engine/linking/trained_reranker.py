"""Rerank candidate entities with a trained network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ...models.linker.config import LinkerDescription
from ...models.linker.training import CandidateScorer
from ..errors import CheckpointError
from ..values import Topic, check_finite
from .reranking import TRAINED_FEATURES, Floats, compute_linker_features


class TrainedReranker:
    """A `CandidateReranker` with a checkpoint of `lodestar train linker`."""

    def __init__(self, description: LinkerDescription, network: CandidateScorer) -> None:
        self.description = description
        self._network = network

    def compute_probabilities(self, found: Sequence[Topic], relations: Floats) -> Floats:
        """Return the calibrated probability of each candidate."""
        slope, intercept = self.description.calibration
        with torch.no_grad():
            logits = self._network(torch.from_numpy(compute_linker_features(found, relations).astype(np.float32)))
        check_finite(logits.numpy(), "a checkpoint of kind linker")
        probability: Floats = 1 / (1 + np.exp(-(slope * logits.numpy().astype(np.float64) + intercept)))
        return probability


def make_trained_reranker(folder: str, description: LinkerDescription, network: CandidateScorer) -> TrainedReranker:
    """Return the reranker of a checkpoint; raise `CheckpointError` if the checkpoint has other features."""
    if description.features != TRAINED_FEATURES:
        raise CheckpointError(
            f"{folder} was trained on other features than Lodestar has: train it again with `lodestar train linker`"
        )
    return TrainedReranker(description, network)
