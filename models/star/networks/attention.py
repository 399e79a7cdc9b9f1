"""The two attention reads of STAR's cross-attentive scorer."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def attend(
    query: Tensor, states: Tensor, mask: Tensor, query_map: nn.Linear, key_map: nn.Linear
) -> tuple[Tensor, Tensor]:
    """Read from the states what the query attends to (STAR, section 4.1).

        attend(h, S) = softmax( (h·W_Q)(S·W_K)ᵀ / √d_k ) · S

    query: h, (batch, d). states: S, (batch, length, d). mask: (batch, length) bool, true where a state counts; at least
    one in each row. query_map, key_map: W_Q and W_K, d → d_k, without bias.
    Returns what was read, (batch, d), and the weights, (batch, length), which add up to 1.
    Deviations: none; the values are the states themselves.
    """
    keys = key_map(states)
    logits = torch.einsum("bk,blk->bl", query_map(query), keys) / keys.shape[-1] ** 0.5
    weights = logits.float().masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return torch.einsum("bl,bld->bd", weights.to(states.dtype), states), weights
