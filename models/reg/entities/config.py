"""What a training of ReG@Entity is asked for, resolved: every option with its value, as the checkpoint keeps it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ...training.options import TrainingOptions, check_ranges
from ..config import SubgraphOptions


@dataclass(frozen=True, slots=True)
class EntityConfig:
    """encoder: of texts, by name or path; it stays as it is. hidden, num_layers: of the network. num_rounds: of
    distance encoding in each direction. batch_size: questions of a step. num_negatives: wrong entities of a question in
    a step, drawn anew each epoch; messages are exchanged by all of them.
    """

    encoder: str = "all-MiniLM-L6-v2"
    hidden: int = 64
    num_layers: int = 2
    num_rounds: int = 2
    batch_size: int = 8
    num_negatives: int = 500
    subgraph: SubgraphOptions = field(default_factory=SubgraphOptions)
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=20, learning_rate=1e-3, head_learning_rate=2e-3, weight_decay=0.0, patience=3
        )
    )

    def __post_init__(self) -> None:
        check_ranges(
            self,
            hidden=(1, 8_192),
            num_layers=(1, 8),
            num_rounds=(0, 8),
            batch_size=(1, math.inf),
            num_negatives=(1, math.inf),
        )

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)
