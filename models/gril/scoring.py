"""Score triples with a trained GRIL, and compute the graph token for its reader.

h_GT = MLP(Σ_i A_i h'_i), A = softmax over a question's entities of a graph convolution's score, h' updated by the
retriever. The mask M of equation 5 enters twice, so that the reader's gradient reaches the retriever: it weighs the
messages m of the convolution, and A. Ours: the convolution adds the M-weighted mean of the neighbours, in both
directions, to the entity's own vector. An entity's share in A is weighted by the highest M that leads to it, 1 for a
topic. Unreached entities have no share. The MLP is G-Retriever's: one hidden sigmoid layer.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..reg_triple.network import TripleColumns
from ..text.vectors import TextVectors
from .config import GrilDescription
from .network import GraphRetriever, GrowInputs, GrownSubgraph, concrete_mask, logit

TINY = 1e-9


class Bridge(nn.Module):
    """hidden: width of the retriever's entities. inner: of the MLP. width: of the reader's embeddings."""

    def __init__(self, hidden: int, inner: int, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(hidden, 1)
        self.neighbours = nn.Linear(hidden, 1, bias=False)
        self.inner = nn.Linear(hidden, inner)
        self.out = nn.Linear(inner, width)

    def forward(self, grown: GrownSubgraph, inputs: GrowInputs, mask: Tensor) -> Tensor:
        """Return the graph token of each question, (num_questions, width). mask: M, (num_triples,)."""
        shares = self.shares(grown, inputs, mask)
        pooled = grown.entities.new_zeros(len(inputs.questions), grown.entities.shape[1])
        pooled = pooled.index_add(0, inputs.question_of, shares[:, None] * grown.entities)
        token: Tensor = self.out(torch.sigmoid(self.inner(pooled)))
        return token

    def shares(self, grown: GrownSubgraph, inputs: GrowInputs, mask: Tensor) -> Tensor:
        """Return A, (num_nodes,), which sums to 1 over each question with a topic."""
        entities, seen = grown.entities, grown.is_seen
        ends = torch.cat([inputs.heads[seen], inputs.tails[seen]])
        others = torch.cat([inputs.tails[seen], inputs.heads[seen]])
        weights = torch.cat([mask[seen], mask[seen]])
        own = self.own(entities).squeeze(1)
        messages = torch.zeros_like(own).index_add(0, ends, weights * self.neighbours(entities).squeeze(1)[others])
        total = torch.zeros_like(own).index_add(0, ends, weights)
        scores = own + messages / total.clamp(min=TINY)
        weight = inputs.is_topic.to(own.dtype).scatter_reduce(0, ends, weights, "amax")
        questions = inputs.question_of
        highest = scores.new_full((len(inputs.questions),), float("-inf"))
        highest = highest.scatter_reduce(0, questions, scores.detach(), "amax")
        powers = weight * (scores - highest[questions]).exp()
        sums = powers.new_zeros(len(inputs.questions)).index_add(0, questions, powers)
        shares: Tensor = powers / sums.clamp(min=TINY)[questions]
        return shares


def mask_of(grown: GrownSubgraph, temperature: float, *, is_sampled: bool) -> Tensor:
    """Return M over all triples, 0 for unseen ones: sampled in training, the median at inference."""
    noise = torch.rand_like(grown.path_probability) if is_sampled else None
    return concrete_mask(grown.path_probability, temperature, noise) * grown.is_seen


Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class GrownTriples:
    """The grown triples. logits: (num_triples,) of P. is_kept: (num_triples,). tokens: graph tokens, one per
    question; empty without a bridge.
    """

    logits: Floats
    is_kept: Bools
    grown: GrownSubgraph
    tokens: tuple[tuple[float, ...], ...]


class GrilModel:
    """Grows subgraphs with a checkpoint; threads take turns. `vectors` must come from its training's encoder."""

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
        """Return the triples grown from the topics. is_literal, question_of: (num_nodes,)."""
        with self._turn, torch.no_grad():
            inputs = self._inputs(columns, is_literal, question_of)
            grown = self._network(inputs)
            tokens: list[list[float]] = [[] for _ in columns.questions]
            if self._bridge is not None:
                mask = mask_of(grown, self.description.grow.temperature, is_sampled=False)
                tokens = self._bridge(grown, inputs, mask).float().cpu().tolist()
            return GrownTriples(
                logit(grown.path_probability).float().cpu().numpy(),
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
        of_names = self._encode(names)
        return GrowInputs(
            questions=self._tensor(self._encode(columns.questions)),
            relations=self._tensor(self._encode(columns.relations)),
            entities=self._tensor(of_names[text_of]),
            is_named=self._tensor(np.array([name is not None for name in columns.names], dtype=np.bool_)),
            is_topic=self._tensor(columns.is_topic),
            is_literal=self._tensor(is_literal),
            question_of=self._tensor(question_of),
            heads=self._tensor(columns.heads),
            relation_of=self._tensor(columns.relation_of),
            tails=self._tensor(columns.tails),
        )

    def _encode(self, texts: Sequence[str | None]) -> Floats:
        nothing = np.zeros(self.description.dimension, dtype=np.float32)
        rows = [nothing if text is None else self._vectors.sentence(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.description.dimension), dtype=np.float32)

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)
