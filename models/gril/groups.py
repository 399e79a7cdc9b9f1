"""Sums, softmax and ranks within groups of rows, for graphs of different sizes side by side."""

from __future__ import annotations

import torch
from torch import Tensor

NEAR_ONE = 1.0 - 1e-6
"""Keeps the logarithm of what is left finite."""


def group_softmax(scores: Tensor, groups: Tensor, num_groups: int) -> Tensor:
    """Return the softmax of each score within its group, (num_rows,)."""
    highest = scores.new_full((num_groups,), float("-inf")).scatter_reduce(0, groups, scores.detach(), "amax")
    powers = (scores - highest[groups]).exp()
    return powers / powers.new_zeros(num_groups).index_add(0, groups, powers)[groups]


def group_noisy_or(probabilities: Tensor, groups: Tensor, num_groups: int) -> Tensor:
    """Return 1 − Π (1 − P) over each group, (num_groups,); 0 of an empty one."""
    left = torch.log1p(-probabilities.clamp(max=NEAR_ONE))
    return 1 - left.new_zeros(num_groups).index_add(0, groups, left).exp()


def group_count(flags: Tensor, groups: Tensor, num_groups: int) -> Tensor:
    """Return how many rows of each group are flagged, (num_groups,) int64."""
    return torch.zeros(num_groups, dtype=torch.int64, device=flags.device).index_add(0, groups, flags.long())


def among_best(values: Tensor, groups: Tensor, num_groups: int, top_k: int) -> Tensor:
    """Return which rows are among the `top_k` best of their group, (num_rows,); who equals the last is among them."""
    if not len(values) or not top_k:
        return torch.zeros_like(values, dtype=torch.bool)
    order = torch.argsort(values.detach(), descending=True, stable=True)
    order = order[torch.argsort(groups[order], stable=True)]
    counts = group_count(torch.ones_like(groups, dtype=torch.bool), groups, num_groups)
    starts = counts.cumsum(0) - counts
    last = order[(starts + counts.clamp(max=top_k) - 1).clamp(min=0)]
    return values >= values[last][groups]
