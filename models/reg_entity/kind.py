"""Register ReG@Entity as a kind of model: how it is described, trained and opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..reg_triple.config import FIGURES
from ..subgraphs import QuestionGraphs
from ..training.kind import SUBGRAPHS, CheckpointOpenOptions, Inputs, ModelKind, Training
from .config import PART, EntityConfig, EntityDescription

if TYPE_CHECKING:
    import torch

    from ..reg_triple.training import SubgraphObjective
    from .network import EntityModel


def _train(config: EntityConfig, inputs: Inputs[QuestionGraphs]) -> Training:
    from ..reg_triple.training import Sets, scorer_training
    from ..subgraphs import encoding_width
    from .network import EntityScorer
    from .training import EntityObjective, degree_histogram

    def objective(train: Sets, dev: Sets, device: torch.device) -> EntityObjective:
        width, degrees = encoding_width(config.num_rounds), degree_histogram(train)
        network = EntityScorer(train[0].dimension, width, config.hidden, config.num_layers, degrees).to(device)
        return EntityObjective(network, train, dev, config)

    def own_fields(learned: SubgraphObjective) -> Mapping[str, Any]:
        return {"num_layers": config.num_layers, "degrees": degree_histogram(learned.train)}

    return scorer_training(config, inputs, "entity scorer", PART, objective, own_fields)


def _open(folder: Path, opening: CheckpointOpenOptions) -> EntityModel:
    from .network import EntityModel
    from .training import read_entity_scorer

    description, network = read_entity_scorer(folder, opening.device)
    return EntityModel(description, network, opening.vectors_of(description))


def _about(description: EntityDescription) -> tuple[str, str]:
    return (
        "Scores the entities of a question's subgraph, after ReG@Entity (principal neighbourhood aggregation over text "
        f"embeddings and directional distance encodings). Encoder: `{description.encoder}`, not trained; supervision: "
        f"{description.supervision}.",
        "Use it with `lodestar ask --recipe reg-entity --checkpoint FOLDER`, on the graph it was trained on. A "
        "triple's score is the mean of its two entities' scores. The figures below are the share of right triples, "
        "and of right answers, among the best k of each dev question.",
    )


KIND: ModelKind[EntityConfig, EntityDescription, QuestionGraphs, EntityModel] = ModelKind(
    name="reg-entity",
    title="ReG entity scorer",
    summary="Train ReG's entity scorer on the subgraphs of questions.",
    learns_from=SUBGRAPHS,
    config=EntityConfig,
    description=EntityDescription,
    train=_train,
    open=_open,
    about=_about,
    figures=FIGURES,
    examples=("lodestar train reg-entity --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg",),
)
