"""A STAR checkpoint: ``star.json``, and the networks in `dual/` and `cross/`, each with its encoder's description.

`cross/` is missing where the scorer is `similarity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from ..training.checkpoint import checked, read_weights, readable, write_folder, write_weights
from ..training.description import described
from .config import Description
from .inputs.texts import Texts
from .networks.backbone import Backbone, describe_backbone, stored_backbone
from .networks.cross_encoder import CrossAttentiveScorer
from .networks.dual_encoder import DualEncoder


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint in memory, ready to score. `cross` is None where the scorer is `similarity`."""

    description: Description
    dual: DualEncoder
    dual_texts: Texts
    cross: CrossAttentiveScorer | None
    cross_texts: Texts | None


@dataclass(frozen=True, slots=True)
class Network:
    """A trained network with its encoder, to be written."""

    backbone: Backbone
    network: nn.Module

    def write(self, part: Path) -> None:
        """Write the files of a part."""
        describe_backbone(self.backbone, part)
        write_weights(self.network.state_dict(), part)


def write_checkpoint(folder: Path, description: Description, networks: Mapping[str, Network], card: str) -> None:
    """Write a checkpoint, whole or not at all; what was in the folder's `star.json`, `dual` and `cross` is replaced."""
    write_folder(folder, description, {name: each.write for name, each in networks.items()}, card)


def read_description(folder: Path) -> Description:
    """Return what a checkpoint says of itself; raise `CheckpointError` where there is none or it is damaged."""
    return described(folder, Description)[0]


def read_checkpoint(folder: Path, device: str = "cpu", precision: torch.dtype = torch.float32) -> Checkpoint:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one.

    precision: the type of the encoders' weights; what is on top of them stays float32.
    """
    description = checked(folder, Description, _parts)
    with readable(folder):
        dual_backbone = stored_backbone(description.encoder, folder / "dual")
        dual = DualEncoder(dual_backbone)
        dual.load_state_dict(read_weights(folder / "dual"))
        cross, cross_texts = None, None
        if description.scorer == "cross":
            backbone = stored_backbone(description.encoder, folder / "cross")
            cross = CrossAttentiveScorer(backbone)
            cross.load_state_dict(read_weights(folder / "cross"))
            cross_texts = Texts(backbone.tokenizer)
    for network in (dual, cross):
        if network is not None:
            network.eval().to(device)
            network.encoder.to(precision)
    return Checkpoint(description, dual, Texts(dual_backbone.tokenizer), cross, cross_texts)


def _parts(description: Description) -> tuple[str, ...]:
    return Description.parts if description.scorer == "cross" else Description.parts[:1]
