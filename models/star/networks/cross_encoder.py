"""STAR's single-tower cross-attentive path scorer (section 4.1): question and path are read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..inputs.texts import PairBatch
from .attention import attend
from .backbone import Backbone, hidden_states


@dataclass(frozen=True, slots=True)
class Attention:
    """What the special tokens attended to: question, that of `[QSP]` over the question's tokens, and path, that of
    `[PSP]` over the path's; (num_pairs, length) each, 0 outside, rows add up to 1."""

    question: Tensor
    path: Tensor


@dataclass(frozen=True, slots=True)
class CrossBatch:
    """Pairs in parts of like length; rows, (num_pairs,), is where in the parts joined each pair stands."""

    parts: Sequence[PairBatch]
    rows: Tensor

    def to(self, device: torch.device) -> CrossBatch:
        """Return the batch on another device."""
        return CrossBatch([part.to(device) for part in self.parts], self.rows.to(device))


class CrossAttentiveScorer(nn.Module):
    """Scores a question with a path:

        h'_QSP  = h_QSP + attend(h_QSP, H_question)
        h'_PSP  = h_PSP + attend(h_PSP, H_path)
        s(q, p) = sigmoid( FFN( [h_CLS ; h'_QSP ; h'_PSP] ) )

    W_Q and W_K are shared by both reads (our reading: the paper speaks of two linear maps). H_path begins behind
    `[PSP]` and takes in the topic entity and `[END]`.
    """

    def __init__(self, backbone: Backbone, *, key_dimension: int | None = None, dropout: float = 0.1) -> None:
        super().__init__()
        dimension = backbone.dimension
        self.encoder = backbone.model
        self.precision: torch.dtype | None = None
        self.query_map = nn.Linear(dimension, key_dimension or dimension, bias=False)
        self.key_map = nn.Linear(dimension, key_dimension or dimension, bias=False)
        self.feed_forward = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(3 * dimension, dimension),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(dimension, 1),
        )

    def forward(self, batch: CrossBatch) -> Tensor:
        """Return the logits of s, (num_pairs,)."""
        return torch.cat([self.read(part)[0] for part in batch.parts])[batch.rows]

    def read(self, batch: PairBatch) -> tuple[Tensor, Attention]:
        """Return the logits of s, (num_pairs,), and the attention behind them."""
        text = batch.text
        hidden = hidden_states(self.encoder, text.ids, text.mask, self.precision)
        row = torch.arange(len(hidden), device=hidden.device)
        question, path = hidden[row, batch.question_at], hidden[row, batch.path_at]
        from_question, question_weights = attend(question, hidden, batch.is_question, self.query_map, self.key_map)
        from_path, path_weights = attend(path, hidden, batch.is_path, self.query_map, self.key_map)
        joined = torch.cat([hidden[:, 0], question + from_question, path + from_path], dim=-1)
        logits = self.feed_forward(joined)[:, 0].float()
        return logits, Attention(question_weights, path_weights)
