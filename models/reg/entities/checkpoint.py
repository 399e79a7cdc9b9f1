"""A checkpoint of ReG@Entity: ``reg-entity.json``, and the network in `gnn/`."""

from __future__ import annotations

from pathlib import Path

import torch

from ...training.checkpoint import checked, read_weights, readable
from ..distances import encoding_width
from .config import PART, EntityDescription
from .network import EntityScorer


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
