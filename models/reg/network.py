"""The network of ReG@Triple: an MLP over a triple's question, head, relation, tail and distance encodings.

Its first layer is linear in each of them, so that each is projected once, not once for every triple that it is in: a
triple's hidden layer is the sum of what its question, its relation and its two nodes come to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

BLOCK = 512
"""Triples whose hidden layers are made at a time: few enough to stay in a processor's cache."""


@dataclass(frozen=True, slots=True)
class TripleInputs:
    """The triples of some questions. questions, relations: unit vectors, (num, dimension). entities: (num_nodes,
    dimension), rows of unnamed nodes are not looked at. is_named: (num_nodes,). distances: (num_nodes, width).
    question_of, heads, relation_of, tails: (num_triples,) rows of these."""

    questions: Tensor
    relations: Tensor
    entities: Tensor
    is_named: Tensor
    distances: Tensor
    question_of: Tensor
    heads: Tensor
    relation_of: Tensor
    tails: Tensor


class TripleScorer(nn.Module):
    """dimension: of the text vectors. distance_width: of the encodings. hidden: units of the one hidden layer."""

    def __init__(self, dimension: int, distance_width: int, hidden: int) -> None:
        super().__init__()
        self.unnamed = nn.Parameter(torch.zeros(dimension))
        self.of_question = nn.Linear(dimension, hidden)
        self.of_head = nn.Linear(dimension, hidden, bias=False)
        self.of_relation = nn.Linear(dimension, hidden, bias=False)
        self.of_tail = nn.Linear(dimension, hidden, bias=False)
        self.of_head_distance = nn.Linear(distance_width, hidden, bias=False)
        self.of_tail_distance = nn.Linear(distance_width, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)

    def forward(self, inputs: TripleInputs) -> Tensor:
        """Return the logit of each triple, (num_triples,)."""
        heads, head_of = torch.unique(inputs.heads, return_inverse=True)
        tails, tail_of = torch.unique(inputs.tails, return_inverse=True)
        return self.of_projected(
            self.of_question(inputs.questions),
            self.of_relation(inputs.relations),
            self._nodes(self.of_head, inputs, heads) + self.of_head_distance(inputs.distances[heads]),
            self._nodes(self.of_tail, inputs, tails) + self.of_tail_distance(inputs.distances[tails]),
            replace(inputs, heads=head_of, tails=tail_of),
        )

    def _nodes(self, layer: nn.Linear, inputs: TripleInputs, nodes: Tensor) -> Tensor:
        """Return what a layer makes of nodes, (num_nodes, hidden); texts, which do not learn, are given no gradient."""
        is_named = inputs.is_named[nodes][:, None]
        return torch.where(is_named, layer(inputs.entities[nodes]), layer(self.unnamed))

    def of_projected(
        self, questions: Tensor, relations: Tensor, heads: Tensor, tails: Tensor, inputs: TripleInputs
    ) -> Tensor:
        """Return the logits from the projections, (num, hidden) each, block by block."""
        logits = [self.out.bias.new_zeros(0)]
        for rows in _blocks(len(inputs.heads)):
            hidden = heads.index_select(0, inputs.heads[rows])
            hidden += tails.index_select(0, inputs.tails[rows])
            hidden += relations.index_select(0, inputs.relation_of[rows])
            hidden += questions.index_select(0, inputs.question_of[rows])
            logits.append(self.out(hidden.relu_()).squeeze(1))
        return torch.cat(logits)


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, size, BLOCK))
