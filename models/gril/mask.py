"""The differentiable mask over triples (GRIL, equation 5): the binary concrete relaxation of keeping each."""

from __future__ import annotations

import torch
from torch import Tensor

CLAMP = 1e-6
"""The attention to an only neighbour is 1, whose logit is infinite. Ours."""


def logit(probabilities: Tensor) -> Tensor:
    """Return log P / (1 − P), of P clamped to [`CLAMP`, 1 − `CLAMP`]."""
    clamped = probabilities.clamp(CLAMP, 1 - CLAMP)
    return clamped.log() - torch.log1p(-clamped)


def concrete_mask(probabilities: Tensor, temperature: float, noise: Tensor | None = None) -> Tensor:
    """Return M = σ((log ε / (1 − ε) + log P / (1 − P)) / τ), shaped as `probabilities`.

    noise: ε ~ Uniform(0, 1) of each; without it the mask is that of ε = ½, the median, and so deterministic: what is
    done at inference. Deviations: P and ε are clamped; what is done at inference is ours.
    """
    drawn = 0.0 if noise is None else logit(noise)
    return torch.sigmoid((drawn + logit(probabilities)) / temperature)
