"""Record what a prompt's last position attends to in one layer: O(heads × length) memory, not length × length.

This is an attention implementation of transformers, registered as `NAME`: PyTorch's scaled dot product attention, which
keeps no weights. In the requested layer it computes the one row instead, and the forward pass stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "lodestar_last_row"


@dataclass(slots=True)
class LastRow:
    """The recorded row, (batch, num_heads, length) float32; None until the layer has run."""

    layer: int
    weights: Tensor | None = None


_wanted: ContextVar[LastRow | None] = ContextVar("wanted", default=None)


class _EnoughError(Exception):
    """Stops the forward pass once the row is recorded."""


@contextmanager
def record_last_row(layer: int) -> Iterator[LastRow]:
    """Record the last row of this layer, counted from 0, of the model that the block runs; the row ends the block."""
    row = LastRow(layer)
    token = _wanted.set(row)
    try:
        yield row
    except _EnoughError:
        pass
    finally:
        _wanted.reset(token)


def last_row(query: Tensor, key: Tensor, mask: Tensor | None, scaling: float) -> Tensor:
    """Return softmax(q · Kᵀ · scaling) of the last position, (batch, num_heads, length) float32.

    query: (batch, num_heads, num_queries, d). key: (batch, num_key_heads, length, d); each key head serves num_heads /
    num_key_heads heads. mask: (batch, 1, num_queries, length), bool, true for visible positions, or added to the
    product; None if the last position sees all.
    """
    keys = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    logits = (query[:, :, -1:, :] @ keys.transpose(2, 3) * scaling).float()
    if mask is not None:
        seen = mask[:, :, -1:, : key.shape[2]]
        logits = logits.masked_fill(~seen, float("-inf")) if seen.dtype == torch.bool else logits + seen
    return logits.softmax(dim=-1)[:, :, 0, :]


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    row = _wanted.get()
    if row is not None and getattr(module, "layer_idx", None) == row.layer:
        scaling = options.get("scaling")
        scale = float(query.shape[-1] ** -0.5 if scaling is None else scaling)
        row.weights = last_row(query, key, attention_mask, scale)
        raise _EnoughError
    return sdpa_attention_forward(module, query, key, value, attention_mask, **options)


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
