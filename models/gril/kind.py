"""Register GRIL as a kind of model: how it is described, trained and opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..subgraphs import QuestionGraphs
from ..training.kind import SUBGRAPHS, CheckpointOpenOptions, Inputs, ModelKind, TrainCommandOption, Training
from .config import FIGURES, GrilConfig, GrilDescription

if TYPE_CHECKING:
    from .training import GrilCheckpoint


OPEN_TRIPLES = 20
"""Triples given to a reader when the number of hops is unknown."""
OPEN_DOMAIN = {"joint.graph_supervision": False, "joint.num_triples": OPEN_TRIPLES}


def _train(config: GrilConfig, inputs: Inputs[QuestionGraphs]) -> Training:
    from .training import gril_training

    return gril_training(config, inputs)


def _open(folder: Path, opening: CheckpointOpenOptions) -> GrilCheckpoint:
    from .training import GrilCheckpoint

    return GrilCheckpoint(folder, opening)


def _about(description: GrilDescription) -> tuple[str, str]:
    return (
        "Grows a subgraph from a question's topics by attention over neighbours and prunes it, after GRIL. Encoder: "
        f"`{description.encoder}`, not trained; supervision: entities on shortest paths to the answers.",
        "Use it with `lodestar ask --recipe gril --checkpoint FOLDER`, on the graph it was trained on. The figures "
        "below are the share of right triples among the best k of each dev question; for the hop predictor, "
        "its accuracy and that of the commonest number; for the reader, over questions with an answer in their "
        "subgraph, Hits@1 and F1.",
    )


KIND: ModelKind[GrilConfig, GrilDescription, QuestionGraphs, GrilCheckpoint] = ModelKind(
    name="gril",
    title="GRIL graph retriever",
    summary="Train GRIL's retriever, which grows and prunes a subgraph by attention; with --reader what answers from "
    "it, too.",
    learns_from=SUBGRAPHS,
    config=GrilConfig,
    description=GrilDescription,
    train=_train,
    open=_open,
    about=_about,
    figures=FIGURES,
    epochs_of=("training", "joint_training"),
    options=(
        TrainCommandOption(
            "--reader", "Reader to train with it, by name or path, for example all-MiniLM-L6-v2.", "joint.reader"
        ),
        TrainCommandOption(
            "--reads",
            "What the reader does: an encoder points at answers (the default) or chooses among options; a causal "
            "language model writes them, with a LoRA.",
            "joint.reads",
            choices=("pointing", "choosing", "writing"),
        ),
        TrainCommandOption(
            "--open-domain",
            "Train without graph supervision, for questions whose answers are in no graph.",
            OPEN_DOMAIN,
        ),
    ),
    examples=(
        "lodestar train gril --dataset train.jsonl.gz --dev dev.jsonl.gz --out gril",
        "lodestar train gril --dataset train.jsonl.gz --dev dev.jsonl.gz --out gril --reader all-MiniLM-L6-v2",
        "lodestar train gril --dataset t.jsonl --dev d.jsonl --out g --reader all-MiniLM-L6-v2 --reads choosing",
    ),
)
