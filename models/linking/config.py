"""What a training of the linker is asked for, resolved: every option with its value, as the checkpoint keeps it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ..training.options import TrainingOptions, check_ranges

FIGURES = ("recall_at_1", "recall_at_3", "loss")
"""Figures of a checkpoint: the mean share of a question's topics that are its first candidate (of as many as there can
be), among its first three; and the mean cross-entropy of a candidate."""


@dataclass(frozen=True, slots=True)
class LinkerConfig:
    """encoder: of relations and questions, by name or path; it stays as it is. hidden: units of the network.
    candidates: of a question that it learns from and is given to choose among. batch_size: questions of a step."""

    encoder: str = "all-MiniLM-L6-v2"
    hidden: int = 32
    candidates: int = 20
    batch_size: int = 32
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=30, learning_rate=5e-3, head_learning_rate=5e-3, weight_decay=0.01, patience=8
        )
    )

    def __post_init__(self) -> None:
        check_ranges(self, hidden=(1, 1_024), candidates=(1, 100), batch_size=(1, math.inf))

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)
