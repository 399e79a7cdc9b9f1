"""A checkpoint of the trained linker: ``linker.json``, and the network in `mlp/`."""

from __future__ import annotations

from pathlib import Path

from ..training.checkpoint import checked, read_weights, readable
from .config import PART, LinkerDescription
from .network import CandidateScorer


def read_linker(folder: Path) -> tuple[LinkerDescription, CandidateScorer]:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one."""
    description = checked(folder, LinkerDescription, lambda _: (PART,))
    with readable(folder):
        network = CandidateScorer(len(description.features), description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval()
