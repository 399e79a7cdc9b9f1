"""A checkpoint at work: the subgraphs of a batch grown and pruned, all questions together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..reg.scoring import TripleColumns
from ..text_vectors import TextVectors
from .bridge import Bridge, mask_of
from .config import GrilDescription
from .mask import logit
from .network import GraphRetriever, GrowInputs, Grown

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class GrownTriples:
    """What grew. logits: (num_triples,) of P. is_seen, is_kept: (num_triples,). tokens: the graph token of each
    question, empty where there is no bridge."""

    logits: Floats
    is_seen: Bools
    is_kept: Bools
    grown: Grown
    tokens: tuple[tuple[float, ...], ...]


class GrilModel:
    """Grows subgraphs with a checkpoint. Threads take turns; `vectors` are of the encoder that it was trained with."""

    def __init__(
        self,
        description: GrilDescription,
        network: GraphRetriever,
        vectors: TextVectors,
        bridge: Bridge | None = None,
    ) -> None:
        self.description = description
        self._bridge = bridge
        self._network = network
        self._vectors = vectors
        self._device = network.unnamed.device
        self._turn = threading.RLock()

    def grow(self, columns: TripleColumns, is_literal: Bools, question_of: npt.NDArray[np.int64]) -> GrownTriples:
        """Return what grows from the topics. is_literal, question_of: (num_nodes,)."""
        with self._turn, torch.no_grad():
            inputs = self._inputs(columns, is_literal, question_of)
            grown = self._network(inputs)
            tokens: list[list[float]] = [[] for _ in columns.questions]
            if self._bridge is not None:
                mask = mask_of(grown, self.description.grow.temperature, is_sampled=False)
                tokens = self._bridge(grown, inputs, mask).float().cpu().tolist()
            return GrownTriples(
                logit(grown.probabilities).float().cpu().numpy(),
                grown.is_seen.cpu().numpy(),
                grown.is_kept.cpu().numpy(),
                grown,
                tuple(map(tuple, tokens)),
            )

    def _inputs(self, columns: TripleColumns, is_literal: Bools, question_of: npt.NDArray[np.int64]) -> GrowInputs:
        self._vectors.encode([*columns.relations, *(name for name in columns.names if name is not None)], lasting=True)
        self._vectors.encode(columns.questions)
        names = list(dict.fromkeys(columns.names))
        place = {name: number for number, name in enumerate(names)}
        text_of = np.array([place[name] for name in columns.names], dtype=np.int64)
        of_names = self._encoded(names)
        return GrowInputs(
            questions=self._tensor(self._encoded(columns.questions)),
            relations=self._tensor(self._encoded(columns.relations)),
            entities=self._tensor(of_names[text_of]),
            is_named=self._tensor(np.array([name is not None for name in columns.names], dtype=np.bool_)),
            is_topic=self._tensor(columns.is_topic),
            is_literal=self._tensor(is_literal),
            question_of=self._tensor(question_of),
            heads=self._tensor(columns.heads),
            relation_of=self._tensor(columns.relation_of),
            tails=self._tensor(columns.tails),
        )

    def _encoded(self, texts: Sequence[str | None]) -> Floats:
        nothing = np.zeros(self.description.dimension, dtype=np.float32)
        rows = [nothing if text is None else self._vectors.sentence(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.description.dimension), dtype=np.float32)

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)
