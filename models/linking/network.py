"""The network of the trained linker: one hidden layer over standardised features; our own, no paper's."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class CandidateScorer(nn.Module):
    """num_features: of a candidate. hidden: units of the one hidden layer."""

    mean: Tensor
    spread: Tensor

    def __init__(self, num_features: int, hidden: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("spread", torch.ones(num_features))
        self.linear = nn.Linear(num_features, 1)
        self.inner = nn.Linear(num_features, hidden)
        self.out = nn.Linear(hidden, 1, bias=False)
        nn.init.zeros_(self.out.weight)  # it begins as a logistic regression, and learns what that cannot say

    def standardise(self, features: Tensor) -> None:
        """Take mean and spread of the features from those of the training, (num_candidates, num_features)."""
        self.mean.copy_(features.mean(dim=0))
        spread = features.std(dim=0, unbiased=False)
        self.spread.copy_(torch.where(spread > 1e-6, spread, torch.ones_like(spread)))

    def forward(self, features: Tensor) -> Tensor:
        """Return the logit of each candidate, (num_candidates,), from its features, (num_candidates, num_features)."""
        x = (features - self.mean) / self.spread
        logits: Tensor = self.linear(x) + self.out(torch.relu(self.inner(x)))
        return logits.squeeze(-1)
