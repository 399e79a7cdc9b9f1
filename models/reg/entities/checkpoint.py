"""A checkpoint of ReG@Entity: ``reg-entity.json``, and the network in `gnn/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import torch
from pydantic import Field

from ...training.checkpoint import checked, read_weights, readable
from ..checkpoint import ScorerDescription
from ..distances import encoding_width
from .network import EntityScorer

PART = "gnn"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDescription(ScorerDescription):
    """What ``reg-entity.json`` says. degrees: the histogram by which messages are scaled, of the training graphs: how
    many nodes take part in 0, 1, 2 … triples."""

    kind: ClassVar[str] = "reg-entity"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    num_layers: Annotated[int, Field(ge=1, le=8)]
    degrees: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=2)]


def read_entity_scorer(folder: Path, device: str = "cpu") -> tuple[EntityDescription, EntityScorer]:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one."""
    description = checked(folder, EntityDescription, lambda _: (PART,))
    with readable(folder):
        network = EntityScorer(
            description.dimension,
            encoding_width(description.num_rounds),
            description.hidden,
            description.num_layers,
            description.degrees,
        )
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval().to(torch.device(device))
