"""A checkpoint of ReG@Triple: ``reg-triple.json``, and the network in `mlp/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import torch
from pydantic import Field

from ..training.checkpoint import checked, read_weights, readable
from ..training.description import ModelDescription, described
from .config import SubgraphOptions
from .distances import encoding_width
from .network import TripleScorer

PART = "mlp"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerDescription(ModelDescription):
    """What the checkpoint of a scorer of subgraphs says. dimension: of the encoder's vectors. supervision: what said
    which triples are right, `weak` that they are on shortest paths to the answers."""

    encoder: str
    dimension: Annotated[int, Field(ge=1, le=65_536)]
    hidden: Annotated[int, Field(ge=1, le=8_192)]
    num_rounds: Annotated[int, Field(ge=0, le=8)]
    subgraph: SubgraphOptions
    supervision: str = "weak"


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleDescription(ScorerDescription):
    """What ``reg-triple.json`` says."""

    kind: ClassVar[str] = "reg-triple"
    parts: ClassVar[tuple[str, ...]] = (PART,)


def read_triple_description(folder: Path) -> TripleDescription:
    """Return what a checkpoint says of itself; raise `CheckpointError` where there is none or it is damaged."""
    return described(folder, TripleDescription)[0]


def read_triple_scorer(folder: Path, device: str = "cpu") -> tuple[TripleDescription, TripleScorer]:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one."""
    description = checked(folder, TripleDescription, lambda _: (PART,))
    with readable(folder):
        network = TripleScorer(description.dimension, encoding_width(description.num_rounds), description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval().to(torch.device(device))
