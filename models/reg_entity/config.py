"""Configure the training of ReG@Entity, and describe its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import Field

from ..ranges import Count, Range, Width
from ..reg_triple.config import ScorerConfig, ScorerDescription
from ..training.kind import TrainingOptions

Layers = Annotated[int, Range(1, 8)]


@dataclass(frozen=True, slots=True)
class EntityConfig(ScorerConfig):
    """num_layers: rounds of message passing between all entities of a subgraph."""

    hidden: Width = 64
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=20, learning_rate=1e-3, head_learning_rate=2e-3, weight_decay=0.0, patience=3
        )
    )
    num_layers: Layers = 2


PART = "gnn"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDescription(ScorerDescription):
    """The fields of ``reg-entity.json``.

    degrees: the degree histogram of the training graphs, which scales messages: how many nodes are in 0, 1, 2 …
    triples.
    """

    kind: ClassVar[str] = "reg-entity"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    num_layers: Layers
    degrees: Annotated[tuple[Count, ...], Field(min_length=2)]
