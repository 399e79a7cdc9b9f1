"""A checkpoint of ReG@Entity at work: subgraphs to the scores of their triples."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...text_vectors import TextVectors
from ..distances import distance_encoding
from ..network import TripleInputs
from ..scoring import TripleColumns
from .config import EntityDescription
from .network import EntityScorer, triple_logits


class EntityModel:
    """Scores triples with a checkpoint. Threads take turns; `vectors` are of the encoder that it was trained with."""

    def __init__(self, description: EntityDescription, network: EntityScorer, vectors: TextVectors) -> None:
        self.description = description
        self._network = network
        self._vectors = vectors
        self._device = network.unnamed.device
        self._turn = threading.RLock()

    def score(self, columns: TripleColumns) -> npt.NDArray[np.float32]:
        """Return the logit of each triple, (num_triples,): the mean of its two entities'."""
        if not len(columns.heads):
            return np.zeros(0, dtype=np.float32)
        distances = distance_encoding(columns.heads, columns.tails, columns.is_topic, self.description.num_rounds)
        with self._turn, torch.no_grad():
            inputs = TripleInputs(
                questions=self._tensor(self._vectors.stacked(columns.questions)),
                relations=self._tensor(self._vectors.stacked(columns.relations, lasting=True)),
                entities=self._tensor(self._vectors.stacked([name or "" for name in columns.names], lasting=True)),
                is_named=self._tensor(np.array([name is not None for name in columns.names])),
                distances=self._tensor(distances),
                question_of=self._tensor(columns.question_of),
                heads=self._tensor(columns.heads),
                relation_of=self._tensor(columns.relation_of),
                tails=self._tensor(columns.tails),
            )
            return triple_logits(self._network(inputs), inputs).float().cpu().numpy()

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)
