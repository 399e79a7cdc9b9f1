"""A reader of BERT's size (GRIL, table 5): it reads [graph token; question; triples] and points at an answer's mention.

The paper says neither how a masked language model answers nor what of: pointing is ours. A mention is the mean of its
tokens' last hidden states, scored by a perceptron; softmax goes over all mentions of a question, and an entity's
probability is the sum over its mentions. The graph token stands after the first token, as an embedding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...star.networks.backbone import Backbone
from ..groups import group_softmax
from .passages import Passage, Written, written

CERTAIN = 1e-9
"""Keeps the logarithm of a probability finite."""


@dataclass(frozen=True, slots=True)
class Pointed:
    """probabilities, question_of: (num_candidates,), the candidates of one question after another, those that were not
    written down at 0."""

    probabilities: Tensor
    question_of: Tensor


class Reader(nn.Module):
    """backbone: an encoder with its tokenizer. has_text: whether triples are written down, else names alone."""

    def __init__(self, backbone: Backbone, max_tokens: int, *, has_text: bool) -> None:
        super().__init__()
        self.encoder = backbone.model
        self.backbone = backbone
        self.max_tokens, self.has_text = max_tokens, has_text
        self.inner = nn.Linear(backbone.dimension, backbone.dimension)
        self.out = nn.Linear(backbone.dimension, 1)
        self._tokens: dict[str, list[int]] = {}

    def forward(
        self, passages: Sequence[Passage], graph_tokens: Tensor | None = None, precision: torch.dtype | None = None
    ) -> Pointed:
        """Return how likely each candidate is. graph_tokens: (num_passages, width), None of a reader without."""
        texts = [self._written(passage) for passage in passages]
        states = self._states(texts, graph_tokens, precision)
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

    def _states(self, texts: Sequence[Written], graph_tokens: Tensor | None, precision: torch.dtype | None) -> Tensor:
        """Return the last hidden states, (num_texts, length, width), the graph token at place 1 where there is one."""
        device = self.out.weight.device
        length = max(len(text.ids) for text in texts)
        ids = torch.zeros(len(texts), length, dtype=torch.int64)
        seen = torch.zeros(len(texts), length, dtype=torch.int64)
        for row, text in enumerate(texts):
            ids[row, : len(text.ids)] = torch.tensor(text.ids)
            seen[row, : len(text.ids)] = 1
        encoder: Any = self.encoder
        ids, seen = ids.to(device), seen.to(device)
        with torch.autocast(device.type, dtype=precision, enabled=precision is not None):
            embedded = word_embeddings(encoder)(ids)
            if graph_tokens is not None:
                embedded = torch.cat(
                    [embedded[:, :1], graph_tokens[:, None].to(embedded.dtype), embedded[:, 1:]], dim=1
                )
                seen = torch.cat([seen[:, :1], seen], dim=1)
            states: Tensor = encoder(inputs_embeds=embedded, attention_mask=seen).last_hidden_state
        return states.float()

    def _written(self, passage: Passage) -> Written:
        tokenizer: Any = self.backbone.tokenizer
        return written(
            passage,
            self._tokenised,
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            self.max_tokens - 1,
            has_text=self.has_text,
        )

    def _tokenised(self, text: str) -> list[int]:
        if text not in self._tokens:
            if len(self._tokens) >= MAX_KEPT:
                self._tokens.clear()
            tokenizer: Any = self.backbone.tokenizer
            found = tokenizer(text, add_special_tokens=False, verbose=False)
            self._tokens[text] = found["input_ids"][:MAX_TEXT]
        return self._tokens[text]


MAX_KEPT = 100_000
MAX_TEXT = 64
"""Tokens of a question, a name or a relation."""


def word_embeddings(encoder: Any) -> nn.Module:
    """Return the word embeddings of an encoder, ours or transformers'."""
    found: nn.Module = (
        encoder.get_input_embeddings()
        if hasattr(encoder, "get_input_embeddings")
        else encoder.embeddings["word_embeddings"]
    )
    return found


def reading_loss(pointed: Pointed, is_right: Tensor, num_questions: int) -> Tensor:
    """Return the mean of −log P(a | G_s, q), P the sum over the right candidates.

    is_right: (num_candidates,). Questions none of whose answers were written down do not count: no reader could point
    at them. 0, without a gradient, where that are all.
    """
    right = pointed.probabilities * is_right
    there = right.new_zeros(num_questions).index_add(0, pointed.question_of, (right.detach() > 0).to(right.dtype)) > 0
    total = right.new_zeros(num_questions).index_add(0, pointed.question_of, right)
    return -(total[there].clamp(min=CERTAIN).log()).sum() / max(int(there.sum()), 1)
