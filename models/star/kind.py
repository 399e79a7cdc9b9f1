"""Register STAR as a kind of model: how it is described, trained and opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..training.description import STAR
from ..training.kind import PATHS, CheckpointOpenOptions, Inputs, ModelKind, Training
from .config import PAPER, StarConfig, StarDescription
from .mined import MinedFile

if TYPE_CHECKING:
    from .scoring import StarModel


def _train(config: StarConfig, inputs: Inputs[MinedFile]) -> Training:
    from .training import star_training

    return star_training(config, inputs)


def _open(folder: Path, opening: CheckpointOpenOptions) -> StarModel:
    from .scoring import StarModel, read_checkpoint

    return StarModel(read_checkpoint(folder, opening.device, opening.dtype))


def _about(description: StarDescription) -> tuple[str, str]:
    return (
        "Scores relation paths of a knowledge graph against a question, after STAR (cross-attentive path scoring with "
        f"hard path mining). Scorer: `{description.scorer}`; encoder: `{description.encoder}`; weight of the cross-"
        f"attentive scorer beside the dual encoder: {description.mix:g}, over the best {description.shortlist} paths.",
        f"{_use(description)} The figures below are of the first path, over the dev questions that have a path to an "
        "answer, which selected the weight as well.",
    )


def _use(description: StarDescription) -> str:
    """Return which graphs the checkpoint is for, and what its figures do not cover."""
    use = "Use it with `lodestar ask --checkpoint FOLDER`, "
    if not description.any_graph:
        return f"{use}on the graph it was trained on."
    number = len(description.graphs)
    graphs = "one graph" if number == 1 else f"{number} graphs"
    return (
        f"{use}on any graph: it reads the words of relations, not their numbers. It was trained on "
        f"{graphs}; how good it is on a graph that it has never seen, and how far its probabilities hold there, no "
        "figure below says: measure it on questions about that graph (`lodestar eval`)."
    )


KIND: ModelKind[StarConfig, StarDescription, MinedFile, StarModel] = ModelKind(
    name=STAR,
    title="STAR path scorer",
    summary="Train STAR's path scorer, and the dual encoder that shortlists for it.",
    learns_from=PATHS,
    config=StarConfig,
    description=StarDescription,
    train=_train,
    open=_open,
    about=_about,
    figures=("hits_at_1_any", "hits_at_1_expected", "f1"),
    presets={"best": StarConfig, "paper": lambda: PAPER},
    examples=(
        "lodestar train star --dataset train.jsonl.gz --dev dev.jsonl.gz --out star",
        "lodestar train star --any-graph --dataset one.jsonl.gz --dataset two.jsonl.gz --dev dev.jsonl.gz --out star",
        "lodestar train star --dataset mined.jsonl.gz --dev mined-dev.jsonl.gz --out star --preset paper --seed 1",
        "torchrun --nproc-per-node 4 -m lodestar train star --dataset … --dev … --out star",
    ),
)
