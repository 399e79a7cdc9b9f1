"""STAR's losses: the path-weighted contrastive loss and the listwise loss."""

from __future__ import annotations

import torch
from torch import Tensor


def path_weighted_contrastive(
    scores: Tensor, is_positive: Tensor, weights: Tensor, temperature: float, shares: Tensor | None = None
) -> Tensor:
    """STAR's loss (section 4.2), our reading of it where the text has no formula.

        L = Σ_(p+) w(p+) · −log( e^{s(p+)/τ} / ( e^{s(p+)/τ} + Σ_(p−) w(p−) · e^{s(p−)/τ} ) )

    scores: s, (num_paths,). is_positive: (num_paths,) bool. weights: w, (num_paths,), all 1 without path weights.
    temperature: τ. shares: what each positive counts beside its weight, (num_paths,), adding up to 1 over the
    positives; each alike where not given. Returns a scalar, 0 where there is no positive.
    Deviations: the sum over the positives is their mean (or has `shares`), so that a question with many paths counts
    as much as one with a single path.
    """
    logits = scores / temperature
    log_weights = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()  # of a weight 0: no gradient but 0
    negatives = torch.logsumexp((logits + log_weights).masked_fill(is_positive, float("-inf")), dim=0)
    each = torch.logaddexp(logits, negatives) - logits
    if shares is None:
        shares = is_positive.to(scores.dtype) / is_positive.sum().clamp(min=1)
    return (each * weights * shares)[is_positive].sum()


def listwise(scores: Tensor, shares: Tensor) -> Tensor:
    """Cross-entropy of the softmax over all candidates with the share each should have; our own, no paper's.

        L = −Σ_p t(p) · log( e^{s(p)} / Σ_p' e^{s(p')} )

    Unlike the contrastive loss it also orders the positives among themselves. scores: s, (num_paths,). shares: t,
    (num_paths,), adding up to 1, or all 0 and then L is 0.
    """
    return -(shares * scores.log_softmax(dim=0)).sum()
