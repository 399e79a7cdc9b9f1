"""A checkpoint of GRIL: ``gril.json``, the retriever in `retriever/`, what predicts hops in `hops/`; and, where they
learned together, the bridge in `bridge/` and the reader in `reader/`."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from ..causal_lm import CausalLMError
from ..training.checkpoint import checked, read_weights, readable
from ..training.description import CheckpointError
from ..training.kind import Opening
from .bridge import Bridge
from .config import BRIDGE, HOPS, READER, RETRIEVER, GrilDescription, ReaderDescription
from .hops import HopModel, HopPredictor
from .network import GraphRetriever
from .reading.asked import JointReader
from .reading.kinds import stored_reader
from .reading.model import ReaderModel
from .scoring import GrilModel


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


class GrilCheckpoint:
    """A checkpoint at work: retriever, hops and reader, each read when it is first asked for.

    Each raises `CheckpointError` for a damaged file, `reader` for a checkpoint without one.
    """

    def __init__(self, folder: Path, opening: Opening) -> None:
        self._folder = folder
        self._opening = opening
        self.description = checked(folder, GrilDescription, _parts)

    @cached_property
    def retriever(self) -> GrilModel:
        """What grows subgraphs."""
        description, network = read_graph_retriever(self._folder, self._opening.device)
        has_token = description.reader is not None and description.reader.token
        bridge = read_bridge(self._folder, self._opening.device) if has_token else None
        return GrilModel(description, network, self._opening.vectors_of(description), bridge)

    @cached_property
    def hops(self) -> HopModel:
        """What predicts the hops of a question."""
        description, network = read_hop_predictor(self._folder, self._opening.device)
        return HopModel(network, self._opening.vectors_of(description))

    @cached_property
    def reader(self) -> ReaderModel:
        """What answers from a subgraph."""
        return ReaderModel(*read_reader(self._folder, self._opening.device))
