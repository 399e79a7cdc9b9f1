"""What a STAR training is asked for, resolved: every option with its value, as the checkpoint keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from ..training.options import TrainingOptions, check_ranges
from .learning.dual_objective import DualOptions
from .learning.pool_objective import PoolOptions

Scorer = Literal["cross", "similarity"]


@dataclass(frozen=True, slots=True)
class StarConfig:
    """scorer: `cross`, the cross-attentive scorer over the dual encoder's shortlist, or `similarity`, the dual encoder
    alone. encoder: the backbone of both, by name or path. mix: the weight of the cross-attentive scorer beside the dual
    encoder (see `mixing`), None to choose it on the dev questions.
    """

    scorer: Scorer = "cross"
    encoder: str = "all-MiniLM-L6-v2"
    mix: float | None = None
    dual: DualOptions = field(default_factory=DualOptions)
    dual_training: TrainingOptions = field(default_factory=TrainingOptions)
    cross: PoolOptions = field(default_factory=PoolOptions)
    cross_training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(epochs=3, learning_rate=1e-4, head_learning_rate=1e-3)
    )

    def __post_init__(self) -> None:
        if self.mix is not None:
            check_ranges(self, mix=(0.0, 1.0))

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)


PAPER = StarConfig(mix=1.0)
"""The paper's own setting: the cross-attentive scorer alone orders the shortlist."""


def seeded(config: StarConfig, seed: int) -> StarConfig:
    """Return the configuration with another seed."""
    return replace(
        config,
        dual_training=replace(config.dual_training, seed=seed),
        cross_training=replace(config.cross_training, seed=seed),
    )


def with_training(config: StarConfig, changes: Mapping[str, Any]) -> StarConfig:
    """Return the configuration with options of both trainings changed."""
    return replace(
        config,
        dual_training=replace(config.dual_training, **changes),
        cross_training=replace(config.cross_training, **changes),
    )
