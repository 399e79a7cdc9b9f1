"""The extractive answerer whose probabilities fit the scores it is given: of similarity, or of a trained scorer."""

from __future__ import annotations

from .extractive import ExtractiveAnswerer

TRAINED_TEMPERATURE = 1.0
"""A trained scorer's scores are logits."""


def extractive_answerer(
    checkpoint: str = "", *, min_probability: float = ExtractiveAnswerer().min_probability
) -> ExtractiveAnswerer:
    """Return the answerer for the scores of the checkpoint in this folder, of similarity where it is empty.

    Raises `CheckpointError` where there is no checkpoint.
    """
    if not checkpoint:
        return ExtractiveAnswerer(min_probability=min_probability)
    from ..trained import checkpoint_description  # with PyTorch, which is slow to import

    slope, intercept = checkpoint_description(checkpoint).calibration
    return ExtractiveAnswerer(slope, intercept, min_probability, TRAINED_TEMPERATURE)
