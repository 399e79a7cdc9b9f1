"""Register ReG@Triple as a kind of model: how it is described, trained and opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..subgraphs import QuestionGraphs
from ..training.kind import SUBGRAPHS, CheckpointOpenOptions, Inputs, ModelKind, Training
from .config import FIGURES, PART, TripleConfig, TripleDescription

if TYPE_CHECKING:
    import torch

    from .network import TripleModel


def _train(config: TripleConfig, inputs: Inputs[QuestionGraphs]) -> Training:
    from ..subgraphs import encoding_width
    from .network import TripleScorer
    from .training import Sets, TripleObjective, scorer_training

    def objective(train: Sets, dev: Sets, device: torch.device) -> TripleObjective:
        network = TripleScorer(train[0].dimension, encoding_width(config.num_rounds), config.hidden).to(device)
        return TripleObjective(network, train, dev, config)

    return scorer_training(config, inputs, "triple scorer", PART, objective)


def _open(folder: Path, opening: CheckpointOpenOptions) -> TripleModel:
    from .network import TripleModel
    from .training import read_triple_scorer

    description, network = read_triple_scorer(folder, opening.device)
    return TripleModel(description, network, opening.vectors_of(description))


def _about(description: TripleDescription) -> tuple[str, str]:
    return (
        "Scores the triples of a question's subgraph, after ReG@Triple (an MLP over text embeddings and directional "
        f"distance encodings). Encoder: `{description.encoder}`, not trained; supervision: {description.supervision}.",
        "Use it with `lodestar ask --recipe reg-triple --checkpoint FOLDER`, on the graph it was trained on. The "
        "figures below are the share of right triples among the best k of each dev question.",
    )


KIND: ModelKind[TripleConfig, TripleDescription, QuestionGraphs, TripleModel] = ModelKind(
    name="reg-triple",
    title="ReG triple scorer",
    summary="Train ReG's triple scorer on the subgraphs of questions.",
    learns_from=SUBGRAPHS,
    config=TripleConfig,
    description=TripleDescription,
    train=_train,
    open=_open,
    about=_about,
    figures=FIGURES,
    examples=(
        "lodestar train reg-triple --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg",
        "lodestar train reg-triple --dataset train.jsonl.gz --dev dev.jsonl.gz --supervision refined.jsonl.gz "
        "--out reg",
    ),
)
