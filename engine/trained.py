"""Trained scorers as the engine takes them: read from their folder, and refused where they do not fit the graph."""

from __future__ import annotations

from pathlib import Path

import torch

from ..models.star.checkpoint import CheckpointError as Unreadable
from ..models.star.checkpoint import Description, read_checkpoint, read_description
from ..models.star.scoring import StarModel
from .database.catalogue import Catalogue
from .errors import CheckpointError


def checkpoint_description(folder: str) -> Description:
    """Return what a checkpoint says of itself; raise `CheckpointError` where there is none."""
    try:
        return read_description(Path(folder))
    except Unreadable as error:
        raise CheckpointError(str(error)) from error


def star_model(folder: str) -> StarModel:
    """Return the model of a checkpoint, on the GPU where there is one; raise `CheckpointError` where it cannot be read.

    On a GPU the encoders compute in bfloat16, on a CPU in float32.
    """
    on_gpu = torch.cuda.is_available()
    try:
        checkpoint = read_checkpoint(
            Path(folder), "cuda" if on_gpu else "cpu", torch.bfloat16 if on_gpu else torch.float32
        )
    except Unreadable as error:
        raise CheckpointError(str(error)) from error
    return StarModel(checkpoint)


def check_graph(folder: str, description: Description, catalogue: Catalogue) -> None:
    """Raise `CheckpointError` when the checkpoint was trained on a graph with other relations."""
    if catalogue.vocabulary not in description.graphs:
        sets = ", ".join(dict.fromkeys(each.questions for each in description.train))
        raise CheckpointError(
            f"{folder} was trained on another graph ({sets}; its relations differ from the "
            f"{len(catalogue.relations):,} here): load that graph, train on this one, or allow it with --any-graph"
        )
