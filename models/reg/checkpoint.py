"""A checkpoint of ReG@Triple: ``reg-triple.json``, and the network in `mlp/`."""

from __future__ import annotations

from pathlib import Path

import torch

from ..training.checkpoint import checked, read_weights, readable
from .config import PART, TripleDescription
from .distances import encoding_width
from .network import TripleScorer


def read_triple_scorer(folder: Path, device: str = "cpu") -> tuple[TripleDescription, TripleScorer]:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one."""
    description = checked(folder, TripleDescription, lambda _: (PART,))
    with readable(folder):
        network = TripleScorer(description.dimension, encoding_width(description.num_rounds), description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval().to(torch.device(device))
