"""Register ReG@Entity as a kind of model: its options, its description, and how it is trained and opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from ..ranges import Count, Range, Width
from ..reg_triple.kind import FIGURES, ScorerConfig, ScorerDescription
from ..subgraphs import QuestionGraphs
from ..training.kind import SUBGRAPHS, CheckpointOpenOptions, Inputs, ModelKind, Training, TrainingOptions

if TYPE_CHECKING:
    import torch

    from ..reg_triple.network import SubgraphObjective
    from .network import EntityModel

Layers = Annotated[int, Range(1, 8)]


@dataclass(frozen=True, slots=True)
class EntityConfig(ScorerConfig):
    """num_layers: rounds of message passing between all entities of a subgraph."""

    hidden: Width = 64
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=20, learning_rate=1e-3, head_learning_rate=2e-3, weight_decay=0.0, patience=3
        )
    )
    num_layers: Layers = 2


PART = "gnn"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDescription(ScorerDescription):
    """The fields of ``reg-entity.json``.

    degrees: the degree histogram of the training graphs, which scales messages: how many nodes are in 0, 1, 2 …
    triples.
    """

    kind: ClassVar[str] = "reg-entity"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    num_layers: Layers
    degrees: Annotated[tuple[Count, ...], Field(min_length=2)]


def _train(config: EntityConfig, inputs: Inputs[QuestionGraphs]) -> Training:
    from ..reg_triple.network import Sets, scorer_training
    from ..subgraphs import encoding_width
    from .network import EntityObjective, EntityScorer, degree_histogram

    def objective(train: Sets, dev: Sets, device: torch.device) -> EntityObjective:
        width, degrees = encoding_width(config.num_rounds), degree_histogram(train)
        network = EntityScorer(train[0].dimension, width, config.hidden, config.num_layers, degrees).to(device)
        return EntityObjective(network, train, dev, config)

    def own_fields(learned: SubgraphObjective) -> Mapping[str, Any]:
        return {"num_layers": config.num_layers, "degrees": degree_histogram(learned.train)}

    return scorer_training(config, inputs, "entity scorer", PART, objective, own_fields)


def _open(folder: Path, opening: CheckpointOpenOptions) -> EntityModel:
    from .network import EntityModel, read_entity_scorer

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
