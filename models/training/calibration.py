"""From a path's score to the probability that it leads to a right answer."""

from __future__ import annotations

from collections.abc import Sequence

import torch

MAX_ITERATIONS = 200
PENALTY = 1e-3
"""Keeps the slope finite where the scores part right from wrong without an exception."""


def fitted(scored: Sequence[tuple[float, float]], weights: Sequence[float] | None = None) -> tuple[float, float]:
    """Return slope and intercept of P = σ(slope · score + intercept), by logistic regression (Platt 1999).

    scored: the score of each question's first path, and 1 where it is right, else 0. weights: of each, adding up to 1;
    None for all the same.
    """
    scores, right = torch.tensor(list(scored), dtype=torch.float64).T
    weight = torch.full_like(right, 1 / len(right)) if weights is None else right.new_tensor(list(weights))
    mean, spread = scores.mean(), scores.std(unbiased=False).clamp(min=1e-6)
    standard = (scores - mean) / spread
    line = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([line], max_iter=MAX_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = line[0] * standard + line[1]
        losses = torch.nn.functional.binary_cross_entropy_with_logits(logits, right, reduction="none")
        value: torch.Tensor = weight @ losses + PENALTY * line.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    slope = float(line[0].detach() / spread)
    intercept = float(line[1].detach()) - slope * float(mean)
    return slope, intercept
