"""A reader that chooses one of several options: any encoder of BERT's kind (GRIL, section 5.4: MedQA's four).

It reads [graph token; question; option; triples] once for each option, and scores the mean of the last hidden states by
a perceptron; softmax goes over the options of a question. The paper asks a causal language model for the letter; this,
for what can be measured without one, is ours. So is the order of the triples: those that an option is an end of first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from ...star.networks.backbone import Backbone
from .asked import Asked, Judged
from .encoding import BackboneTexts
from .passages import Passage


class ChoosingReader(nn.Module):
    """backbone: an encoder with its tokenizer. has_text: whether triples are written down."""

    def __init__(self, backbone: Backbone, max_tokens: int, *, has_text: bool) -> None:
        super().__init__()
        self.encoder = backbone.model
        self.backbone = backbone
        self.max_tokens, self.has_text = max_tokens, has_text
        self.inner = nn.Linear(backbone.dimension, backbone.dimension)
        self.out = nn.Linear(backbone.dimension, 1)
        self._texts = BackboneTexts(backbone)

    def forward(
        self,
        passages: Sequence[Passage],
        options: Sequence[Sequence[str]],
        graph_tokens: Tensor | None = None,
        precision: torch.dtype | None = None,
    ) -> list[Tensor]:
        """Return the log-probability of each option of each question. graph_tokens: (num_passages, width)."""
        rows = [self._ids(passage, option) for passage, some in zip(passages, options, strict=True) for option in some]
        sizes = [len(some) for some in options]
        tokens = None
        if graph_tokens is not None:
            tokens = graph_tokens.repeat_interleave(torch.tensor(sizes, device=graph_tokens.device), dim=0)
        states, seen = self._texts.states(rows, tokens, precision)
        weights = seen[:, :, None].to(states.dtype)
        pooled = (states * weights).sum(dim=1) / weights.sum(dim=1)
        logits = self.out(torch.tanh(self.inner(pooled))).squeeze(1)
        return [each.log_softmax(dim=0) for each in logits.split(sizes)]

    @property
    def width(self) -> int:
        """Of its embeddings."""
        return self.backbone.dimension

    def loss(self, asked: Sequence[Asked], tokens: Tensor | None, precision: torch.dtype | None = None) -> Tensor:
        """Return the mean of −log P of the right options."""
        found = self._chosen(asked, tokens, precision)
        return -torch.stack([each[one.wanted.right] for each, one in zip(found, asked, strict=True)]).mean()

    def judged(
        self, asked: Sequence[Asked], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> list[Judged]:
        """Return how likely each option is."""
        judged = []
        for each, one in zip(self._chosen(asked, tokens, precision), asked, strict=True):
            is_right = np.arange(len(one.wanted.options)) == one.wanted.right
            judged.append(Judged(each.exp().cpu().numpy(), is_right, 1))
        return judged

    def pretrained(self) -> Sequence[Tensor]:
        """Return the encoder's parameters."""
        return list(self.encoder.parameters())

    def learned(self) -> Mapping[str, Tensor]:
        """Return all weights."""
        return self.state_dict()

    def _chosen(self, asked: Sequence[Asked], tokens: Tensor | None, precision: torch.dtype | None) -> list[Tensor]:
        options = [each.wanted.options for each in asked]
        found: list[Tensor] = self([each.passage for each in asked], options, tokens, precision)
        return found

    def _ids(self, passage: Passage, option: str) -> list[int]:
        name = option.casefold()
        about = {place for place, each in enumerate(passage.names) if each is not None and each.casefold() == name}
        triples = sorted(passage.triples, key=lambda each: not about & {each[0], each[2]})
        asked = replace(passage, triples=tuple(triples), candidates=())
        return self._texts.ids(asked, self.max_tokens - 1, has_text=self.has_text, after=option)
