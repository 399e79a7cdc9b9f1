"""What a reader makes of passages with an encoder: tokens, the graph token among their embeddings, hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...star.networks.backbone import Backbone
from .passages import Passage, Written, written

MAX_KEPT = 100_000


class BackboneTexts:
    """Texts and states of one encoder."""

    def __init__(self, backbone: Backbone) -> None:
        self._model: Any = backbone.model
        self._tokenizer: Any = backbone.tokenizer
        self._tokens: dict[str, list[int]] = {}

    def written(self, passage: Passage, max_tokens: int, *, has_text: bool, after: str = "") -> Written:
        """Return a passage as tokens; see `passages.written`."""
        tokenizer = self._tokenizer
        return written(
            passage,
            self._tokenised,
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            max_tokens,
            has_text=has_text,
            after=after,
        )

    def ids(self, passage: Passage, max_tokens: int, *, has_text: bool, after: str = "") -> list[int]:
        """Return its tokens alone."""
        return self.written(passage, max_tokens, has_text=has_text, after=after).ids

    def states(
        self, texts: Sequence[Sequence[int]], graph_tokens: Tensor | None, precision: torch.dtype | None
    ) -> tuple[Tensor, Tensor]:
        """Return the last hidden states, (num_texts, length, width) float32, and which of them are there.

        graph_tokens: (num_texts, width), each put at place 1, as an embedding; None for none.
        """
        embeddings = word_embeddings(self._model)
        device = next(embeddings.parameters()).device
        length = max(map(len, texts))
        ids = torch.zeros(len(texts), length, dtype=torch.int64)
        seen = torch.zeros(len(texts), length, dtype=torch.int64)
        for row, each in enumerate(texts):
            ids[row, : len(each)] = torch.tensor(each)
            seen[row, : len(each)] = 1
        ids, seen = ids.to(device), seen.to(device)
        with torch.autocast(device.type, dtype=precision, enabled=precision is not None):
            embedded = embeddings(ids)
            if graph_tokens is not None:
                embedded = torch.cat(
                    [embedded[:, :1], graph_tokens[:, None].to(embedded.dtype), embedded[:, 1:]], dim=1
                )
                seen = torch.cat([seen[:, :1], seen], dim=1)
            states: Tensor = self._model(inputs_embeds=embedded, attention_mask=seen).last_hidden_state
        return states.float(), seen

    def _tokenised(self, text: str) -> list[int]:
        if text not in self._tokens:
            if len(self._tokens) >= MAX_KEPT:
                self._tokens.clear()
            self._tokens[text] = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return self._tokens[text]


def word_embeddings(encoder: Any) -> nn.Module:
    """Return the word embeddings of an encoder, ours or transformers'."""
    found: nn.Module = (
        encoder.get_input_embeddings()
        if hasattr(encoder, "get_input_embeddings")
        else encoder.embeddings["word_embeddings"]
    )
    return found
