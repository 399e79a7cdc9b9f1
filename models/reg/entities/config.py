"""What a training of ReG@Entity is asked for, resolved: every option with its value, as the checkpoint keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...training.options import TrainingOptions, check_ranges
from ..config import ScorerConfig


@dataclass(frozen=True, slots=True)
class EntityConfig(ScorerConfig):
    """num_layers: of the network, each of which exchanges messages between all entities of a subgraph."""

    hidden: int = 64
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=20, learning_rate=1e-3, head_learning_rate=2e-3, weight_decay=0.0, patience=3
        )
    )
    num_layers: int = 2

    def __post_init__(self) -> None:
        ScorerConfig.__post_init__(self)
        check_ranges(self, num_layers=(1, 8))
