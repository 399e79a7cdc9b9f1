"""STAR's losses: the path-weighted contrastive loss and the listwise loss."""

from __future__ import annotations

import torch
from torch import Tensor


def path_weighted_contrastive(
    scores: Tensor, is_positive: Tensor, weights: Tensor, temperature: float, shares: Tensor | None = None
) -> Tensor:
    """Return STAR's loss (section 4.2); our reading, as the text has no formula.

        L = Σ_(p+) w(p+) · −log( e^{s(p+)/τ} / ( e^{s(p+)/τ} + Σ_(p−) w(p−) · e^{s(p−)/τ} ) )

    scores: s, (num_paths,). is_positive: (num_paths,) bool. weights: w, (num_paths,), all 1 without path weights.
    temperature: τ. shares: each positive's further weight, (num_paths,), summing to 1 over the positives; None for
    equal shares. Returns a scalar, 0 without a positive. Deviations: the sum over the positives is their mean (or
    weighted by `shares`), so that a question with many paths counts as much as one with a single path.
    """
    logits = scores / temperature
    log_weights = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()  # weight 0 has gradient 0
    negatives = torch.logsumexp((logits + log_weights).masked_fill(is_positive, float("-inf")), dim=0)
    each = torch.logaddexp(logits, negatives) - logits
    if shares is None:
        shares = is_positive.to(scores.dtype) / is_positive.sum().clamp(min=1)
    return (each * weights * shares)[is_positive].sum()


def listwise(scores: Tensor, shares: Tensor) -> Tensor:
    """Return the cross-entropy of the softmax over all candidates with their target shares; ours, not from a paper.

        L = −Σ_p t(p) · log( e^{s(p)} / Σ_p' e^{s(p')} )

    Unlike the contrastive loss it also orders the positives among themselves. scores: s, (num_paths,). shares: t,
    (num_paths,), summing to 1, or all 0, which makes L 0.
    """
    return -(shares * scores.log_softmax(dim=0)).sum()
