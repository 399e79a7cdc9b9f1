"""A checkpoint of ReG@Path: ``reg-path.json``, and the network in `decoder/`."""

from __future__ import annotations

from pathlib import Path

import torch

from ...training.checkpoint import checked, read_weights, readable
from .config import PART, PathDescription
from .network import PathDecoder


def read_path_decoder(folder: Path, device: str = "cpu") -> tuple[PathDescription, PathDecoder]:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one."""
    description = checked(folder, PathDescription, lambda _: (PART,))
    with readable(folder):
        network = PathDecoder(description.dimension, description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval().to(torch.device(device))
