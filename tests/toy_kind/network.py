"""The toy network: a triple's logit is the weighted product of question and relation vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from lodestar.models.reg_triple.network import TripleColumns, TripleInputs
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training.checkpoint import check_checkpoint, read_weights
from lodestar.models.training.kind import CheckpointOpenOptions
from torch import Tensor, nn

from tests.toy_kind.config import ToyDescription


class ToyScorer(nn.Module):
    """logit = Σ weight · question · relation."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dimension))

    def forward(self, inputs: TripleInputs) -> Tensor:
        products: Tensor = inputs.questions[inputs.question_of] * inputs.relations[inputs.relation_of]
        return products @ self.weight


class ToyModel:
    """A checkpoint at work."""

    def __init__(self, description: ToyDescription, network: ToyScorer, vectors: TextVectors) -> None:
        self.description = description
        self._weight = network.weight.detach().numpy()
        self._vectors = vectors

    def score(self, columns: TripleColumns) -> npt.NDArray[np.float32]:
        questions = self._vectors.stack(columns.questions)[columns.question_of]
        relations = self._vectors.stack(columns.relations, lasting=True)[columns.relation_of]
        scores: npt.NDArray[np.float32] = ((questions * relations) @ self._weight).astype(np.float32)
        return scores


def read_toy(folder: Path, opening: CheckpointOpenOptions) -> ToyModel:
    description = check_checkpoint(folder, ToyDescription, lambda _: ToyDescription.parts)
    network = ToyScorer(description.dimension)
    network.load_state_dict(read_weights(folder / "weights"))
    return ToyModel(description, network, opening.vectors_of(description))
