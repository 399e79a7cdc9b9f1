"""A checkpoint of GRIL: ``gril.json``, the retriever in `retriever/`, what predicts hops in `hops/`; and, where they
learned together, the bridge in `bridge/` and the reader in `reader/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
from pydantic import Field

from ..causal_lm import CausalLMError
from ..reg.config import SubgraphOptions
from ..training.checkpoint import checked, read_weights, readable
from ..training.description import CheckpointError, ModelDescription, described
from .bridge import Bridge
from .config import GrowOptions, Score
from .hops import HopPredictor
from .network import GraphRetriever
from .reading.asked import JointReader
from .reading.description import ReaderDescription
from .reading.kinds import stored_reader

RETRIEVER, HOPS, BRIDGE, READER = "retriever", "hops", "bridge", "reader"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrilDescription(ModelDescription):
    """What ``gril.json`` says. dimension: of the encoder's vectors."""

    kind: ClassVar[str] = "gril"
    parts: ClassVar[tuple[str, ...]] = (RETRIEVER, HOPS, BRIDGE, READER)

    encoder: str
    dimension: Annotated[int, Field(ge=1, le=65_536)]
    hidden: Annotated[int, Field(ge=1, le=8_192)]
    score: Score
    max_hops: Annotated[int, Field(ge=1, le=16)]
    grow: GrowOptions
    subgraph: SubgraphOptions
    reader: ReaderDescription | None = None


def read_gril_description(folder: Path) -> GrilDescription:
    """Return what a checkpoint says of itself; raise `CheckpointError` where there is none or it is damaged."""
    return described(folder, GrilDescription)[0]


def read_graph_retriever(folder: Path, device: str = "cpu") -> tuple[GrilDescription, GraphRetriever]:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one."""
    description = checked(folder, GrilDescription, _parts)
    with readable(folder):
        network = GraphRetriever(description.dimension, description.hidden, description.score, description.grow)
        network.load_state_dict(read_weights(folder / RETRIEVER))
    return description, network.eval().to(torch.device(device))


def read_hop_predictor(folder: Path, device: str = "cpu") -> tuple[GrilDescription, HopPredictor]:
    """Return what predicts hops; raise `CheckpointError` for a damaged checkpoint."""
    description = checked(folder, GrilDescription, _parts)
    with readable(folder):
        network = HopPredictor(description.dimension, description.hidden, description.max_hops)
        network.load_state_dict(read_weights(folder / HOPS))
    return description, network.eval().to(torch.device(device))


def read_bridge(folder: Path, device: str = "cpu") -> Bridge:
    """Return the bridge of a checkpoint with a reader; raise `CheckpointError` for one without, or a damaged one."""
    description, reader = _with_reader(folder)
    with readable(folder):
        network = Bridge(description.hidden, reader.inner, reader.width)
        network.load_state_dict(read_weights(folder / BRIDGE))
    return network.eval().to(torch.device(device))


def read_reader(folder: Path, device: str = "cpu") -> tuple[GrilDescription, JointReader]:
    """Return the reader of a checkpoint; raise `CheckpointError` for one without, a damaged one, or one whose language
    model cannot be had."""
    description, said = _with_reader(folder)
    try:
        with readable(folder):
            reader: Any = stored_reader(said, folder / READER, device)
    except CausalLMError as error:
        raise CheckpointError(f"{folder}: {error}") from error
    moved: JointReader = reader.to(torch.device(device))
    return description, moved


def _with_reader(folder: Path) -> tuple[GrilDescription, ReaderDescription]:
    description = checked(folder, GrilDescription, _parts)
    if description.reader is None:
        raise CheckpointError(
            f"{folder}: expected a checkpoint with a reader, found a retriever alone: train one with `lodestar train "
            "gril --reader all-MiniLM-L6-v2`"
        )
    return description, description.reader


def _parts(description: GrilDescription) -> tuple[str, ...]:
    return GrilDescription.parts if description.reader else (RETRIEVER, HOPS)
