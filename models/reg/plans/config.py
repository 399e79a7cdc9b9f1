"""What a training of ReG@Path's language model is asked for, resolved: every option with its value."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ...training.options import LoraOptions, TrainingOptions, check_ranges


@dataclass(frozen=True, slots=True)
class PlanConfig:
    """model: a causal LM of Hugging Face, by name or folder. batch_size: paths a step. num_candidates: chains of a dev
    question that are judged, its right ones among them.

    Eight epochs are the paper's (appendix E); the rate is what is usual for LoRA, as the paper's is not given.
    """

    model: str = ""
    lora: LoraOptions = field(default_factory=LoraOptions)
    batch_size: int = 8
    num_candidates: int = 20
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=8, learning_rate=2e-4, head_learning_rate=2e-4, weight_decay=0.0, patience=3
        )
    )

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("expected the name or folder of a language model, found none: give --model")
        check_ranges(self, batch_size=(1, math.inf), num_candidates=(1, math.inf))

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)
