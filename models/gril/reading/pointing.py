"""A reader of BERT's size (GRIL, table 5): it reads [graph token; question; triples] and points at an answer's mention.

The paper says neither how a masked language model answers nor what of: pointing is ours. A mention is the mean of its
tokens' last hidden states, scored by a perceptron; softmax goes over all mentions of a question, and an entity's
probability is the sum over its mentions. The graph token stands after the first token, as an embedding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ...star.networks.backbone import Backbone
from ..groups import group_softmax
from .asked import Asked, Judged
from .encoding import BackboneTexts
from .passages import Passage

CERTAIN = 1e-9
"""Keeps the logarithm of a probability finite."""


@dataclass(frozen=True, slots=True)
class Pointed:
    """probabilities, question_of: (num_candidates,), the candidates of one question after another, those that were not
    written down at 0."""

    probabilities: Tensor
    question_of: Tensor


class PointingReader(nn.Module):
    """backbone: an encoder with its tokenizer. has_text: whether triples are written down, else names alone."""

    def __init__(self, backbone: Backbone, max_tokens: int, *, has_text: bool) -> None:
        super().__init__()
        self.encoder = backbone.model
        self.backbone = backbone
        self.max_tokens, self.has_text = max_tokens, has_text
        self.inner = nn.Linear(backbone.dimension, backbone.dimension)
        self.out = nn.Linear(backbone.dimension, 1)
        self._texts = BackboneTexts(backbone)

    def forward(
        self, passages: Sequence[Passage], graph_tokens: Tensor | None = None, precision: torch.dtype | None = None
    ) -> Pointed:
        """Return how likely each candidate is. graph_tokens: (num_passages, width), None of a reader without."""
        texts = [self._texts.written(passage, self.max_tokens - 1, has_text=self.has_text) for passage in passages]
        states, _ = self._texts.states([text.ids for text in texts], graph_tokens, precision)
        shift = 0 if graph_tokens is None else 1
        firsts = [0]
        for passage in passages:
            firsts.append(firsts[-1] + len(passage.candidates))
        device = states.device
        rows: list[int] = []
        tokens: list[int] = []
        of_mention: list[int] = []
        candidates: list[int] = []
        for row, text in enumerate(texts):
            for candidate, start, after in text.mentions:
                rows += [row] * (after - start)
                tokens += range(start + shift, after + shift)
                of_mention += [len(candidates)] * (after - start)
                candidates.append(firsts[row] + candidate)
        sizes = [len(passage.candidates) for passage in passages]
        question_of = torch.repeat_interleave(torch.arange(len(passages)), torch.tensor(sizes)).to(device)
        probabilities = states.new_zeros(firsts[-1])
        if candidates:
            mention_of = torch.tensor(of_mention, device=device)
            spans = states.new_zeros(len(candidates), states.shape[2]).index_add(0, mention_of, states[rows, tokens])
            spans = spans / torch.bincount(mention_of, minlength=len(candidates))[:, None]
            logits = self.out(torch.tanh(self.inner(spans))).squeeze(1)
            of_candidate = torch.tensor(candidates, device=device)
            shares = group_softmax(logits, question_of[of_candidate], len(passages))
            probabilities = probabilities.index_add(0, of_candidate, shares)
        return Pointed(probabilities, question_of)

    @property
    def width(self) -> int:
        """Of its embeddings."""
        return self.backbone.dimension

    def loss(self, asked: Sequence[Asked], tokens: Tensor | None, precision: torch.dtype | None = None) -> Tensor:
        """Return `reading_loss`."""
        pointed = self([each.passage for each in asked], tokens, precision)
        right = [is_right for each in asked for is_right in each.is_right]
        is_right = torch.tensor(right, dtype=torch.float32, device=pointed.probabilities.device)
        return reading_loss(pointed, is_right, len(asked))

    def judged(
        self, asked: Sequence[Asked], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> list[Judged]:
        """Return what it points at."""
        pointed = self([each.passage for each in asked], tokens, precision)
        scores, question_of = pointed.probabilities.cpu().numpy(), pointed.question_of.cpu().numpy()
        return [
            Judged(scores[question_of == place], np.array(each.is_right, dtype=np.bool_), each.num_answers)
            for place, each in enumerate(asked)
        ]

    def pretrained(self) -> Sequence[Tensor]:
        """Return the encoder's parameters."""
        return list(self.encoder.parameters())

    def learned(self) -> Mapping[str, Tensor]:
        """Return all weights."""
        return self.state_dict()


def reading_loss(pointed: Pointed, is_right: Tensor, num_questions: int) -> Tensor:
    """Return the mean of −log P(a | G_s, q), P the sum over the right candidates.

    is_right: (num_candidates,). Questions none of whose answers were written down do not count: no reader could point
    at them. 0, without a gradient, where that are all.
    """
    right = pointed.probabilities * is_right
    there = right.new_zeros(num_questions).index_add(0, pointed.question_of, (right.detach() > 0).to(right.dtype)) > 0
    total = right.new_zeros(num_questions).index_add(0, pointed.question_of, right)
    return -(total[there].clamp(min=CERTAIN).log()).sum() / max(int(there.sum()), 1)
