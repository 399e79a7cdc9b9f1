"""Configure the training of ReG@Entity, and describe its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import Field

from ..reg_triple.config import ScorerConfig, ScorerDescription
from ..training.objective import TrainingOptions, check_ranges


@dataclass(frozen=True, slots=True)
class EntityConfig(ScorerConfig):
    """num_layers: rounds of message passing between all entities of a subgraph."""

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


PART = "gnn"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDescription(ScorerDescription):
    """The fields of ``reg-entity.json``.

    degrees: the degree histogram of the training graphs, which scales messages: how many nodes are in 0, 1, 2 …
    triples.
    """

    kind: ClassVar[str] = "reg-entity"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    num_layers: Annotated[int, Field(ge=1, le=8)]
    degrees: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=2)]
