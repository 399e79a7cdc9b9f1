"""A checkpoint of the trained linker: ``linker.json``, and the network in `mlp/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from ..training.checkpoint import checked, read_weights, readable
from ..training.description import ModelDescription
from .network import CandidateScorer

PART = "mlp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkerDescription(ModelDescription):
    """What ``linker.json`` says. features: names of a candidate's features, in order."""

    kind: ClassVar[str] = "linker"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    encoder: str
    features: tuple[str, ...]
    hidden: Annotated[int, Field(ge=1, le=1_024)]
    candidates: Annotated[int, Field(ge=1, le=100)]


def read_linker(folder: Path) -> tuple[LinkerDescription, CandidateScorer]:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one."""
    description = checked(folder, LinkerDescription, lambda _: (PART,))
    with readable(folder):
        network = CandidateScorer(len(description.features), description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval()
