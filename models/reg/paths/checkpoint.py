"""A checkpoint of ReG@Path: ``reg-path.json``, and the network in `decoder/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import torch
from pydantic import Field

from ...training.checkpoint import checked, read_weights, readable
from ...training.description import ModelDescription
from .network import PathDecoder

PART = "decoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathDescription(ModelDescription):
    """What ``reg-path.json`` says. dimension: of the encoder's vectors. supervision: what chose the right paths."""

    kind: ClassVar[str] = "reg-path"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    encoder: str
    dimension: Annotated[int, Field(ge=1, le=65_536)]
    hidden: Annotated[int, Field(ge=1, le=8_192)]
    supervision: str = "weak"


def read_path_decoder(folder: Path, device: str = "cpu") -> tuple[PathDescription, PathDecoder]:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one."""
    description = checked(folder, PathDescription, lambda _: (PART,))
    with readable(folder):
        network = PathDecoder(description.dimension, description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval().to(torch.device(device))
