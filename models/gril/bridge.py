"""The bridge (GRIL, section 4.2): a soft graph token, of all entities of the subgraph, in the reader's space.

h_GT = MLP(Σ_i A_i h'_i), A = softmax over a question's entities of a graph convolution's score, h' updated by the
retriever. The mask M of equation 5 enters in two places, so that what the reader makes of the token reaches the
retriever: it weighs the messages of the convolution, and A. Ours: the convolution adds the M-weighted mean of the
neighbours, in both directions, to the entity's own; an entity's share in A is weighted by the highest M that leads to
it, 1 of a topic; entities that no triple led to have no share. The MLP is G-Retriever's: one hidden layer of sigmoid.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .mask import concrete_mask
from .network import GrowInputs, Grown

TINY = 1e-9


class Bridge(nn.Module):
    """hidden: of the retriever's entities. inner: of the MLP. width: of the reader's embeddings."""

    def __init__(self, hidden: int, inner: int, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(hidden, 1)
        self.neighbours = nn.Linear(hidden, 1, bias=False)
        self.inner = nn.Linear(hidden, inner)
        self.out = nn.Linear(inner, width)

    def forward(self, grown: Grown, inputs: GrowInputs, mask: Tensor) -> Tensor:
        """Return the token of each question, (num_questions, width). mask: M, (num_triples,)."""
        shares = self.shares(grown, inputs, mask)
        pooled = grown.entities.new_zeros(len(inputs.questions), grown.entities.shape[1])
        pooled = pooled.index_add(0, inputs.question_of, shares[:, None] * grown.entities)
        token: Tensor = self.out(torch.sigmoid(self.inner(pooled)))
        return token

    def shares(self, grown: Grown, inputs: GrowInputs, mask: Tensor) -> Tensor:
        """Return A, (num_nodes,), which adds up to 1 over each question that has a topic."""
        entities, seen = grown.entities, grown.is_seen
        ends = torch.cat([inputs.heads[seen], inputs.tails[seen]])
        others = torch.cat([inputs.tails[seen], inputs.heads[seen]])
        weights = torch.cat([mask[seen], mask[seen]])
        own = self.own(entities).squeeze(1)
        heard = torch.zeros_like(own).index_add(0, ends, weights * self.neighbours(entities).squeeze(1)[others])
        total = torch.zeros_like(own).index_add(0, ends, weights)
        scores = own + heard / total.clamp(min=TINY)
        weight = inputs.is_topic.to(own.dtype).scatter_reduce(0, ends, weights, "amax")
        weight = torch.where(inputs.is_topic, torch.ones_like(weight), weight)
        questions = inputs.question_of
        highest = scores.new_full((len(inputs.questions),), float("-inf"))
        highest = highest.scatter_reduce(0, questions, scores.detach(), "amax")
        powers = weight * (scores - highest[questions]).exp()
        sums = powers.new_zeros(len(inputs.questions)).index_add(0, questions, powers)
        shares: Tensor = powers / sums.clamp(min=TINY)[questions]
        return shares


def mask_of(grown: Grown, temperature: float, *, is_sampled: bool) -> Tensor:
    """Return M over all triples, 0 where none was seen: drawn in training, the median's at inference."""
    noise = torch.rand_like(grown.probabilities) if is_sampled else None
    return concrete_mask(grown.probabilities, temperature, noise) * grown.is_seen
