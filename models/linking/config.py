"""Options of a training of the trained linker, with defaults and ranges, and what its checkpoint says of itself."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ..training.description import ModelDescription
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


PART = "mlp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkerDescription(ModelDescription):
    """What ``linker.json`` says. features: names of a candidate's features, in order."""

    kind: ClassVar[str] = "linker"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    features: tuple[str, ...]
    hidden: Annotated[int, Field(ge=1, le=1_024)]
    candidates: Annotated[int, Field(ge=1, le=100)]
