"""Register ReG@Triple as a kind of model: its options, its description, and how it is trained and opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..ranges import Dimension, Hops, NumPhrases, Positive, Range, Ranged, Width
from ..subgraphs import QuestionGraphs
from ..training.kind import (
    SUBGRAPHS,
    CheckpointOpenOptions,
    Inputs,
    ModelDescription,
    ModelKind,
    Training,
    TrainingOptions,
)

if TYPE_CHECKING:
    import torch

    from .network import TripleModel

Rounds = Annotated[int, Range(0, 8)]

RECALL_AT = (10, 50, 100, 500)
CHOOSE_AT = 100
ANSWERS = tuple(f"answer_recall_at_{k}" for k in RECALL_AT)
FIGURES = (*(f"recall_at_{k}" for k in RECALL_AT), "average_precision", *ANSWERS)
"""Figures of a checkpoint: recall of a question's right triples among its best k, average precision over its right
triples, and recall of the right answers in its subgraph among the ends of the best k.
"""


@dataclass(frozen=True, slots=True)
class SubgraphOptions(Ranged):
    """How a question's subgraph is read: hops from the topics, relations expanded per hop (those nearest to the
    question), and the most triples. phrases: how many of what people say for a relation follow its words.
    """

    num_hops: Hops = 2
    num_relations: Positive = 20
    max_triples: Annotated[int, Range(1, 1_000_000)] = 4_000
    phrases: NumPhrases = 0


@dataclass(frozen=True, slots=True)
class ScorerConfig(Ranged):
    """encoder: text encoder, by name or path; it is not trained. hidden: units of the network. num_rounds: of distance
    encoding in each direction (SubgraphRAG's 2). batch_size: questions per step. num_negatives: wrong triples, or
    entities, per question and step, sampled anew each epoch.
    """

    encoder: str = "all-MiniLM-L6-v2"
    hidden: Width = 384
    num_rounds: Rounds = 2
    batch_size: Positive = 8
    num_negatives: Positive = 500
    subgraph: SubgraphOptions = field(default_factory=SubgraphOptions)
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=30, learning_rate=1e-3, head_learning_rate=1e-3, weight_decay=0.0, patience=10
        )
    )

    @property
    def open_domain(self) -> bool:
        """Whether questions without an answer in the graph are used: never."""
        return False


class TripleConfig(ScorerConfig):
    """Options of ReG@Triple."""

    __slots__ = ()


PART = "mlp"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerDescription(ModelDescription):
    """The fields of a subgraph scorer's description.

    dimension: of the encoder's vectors. supervision: what chose the right triples; `weak`: those on shortest paths to
    the answers.
    """

    dimension: Dimension
    hidden: Width
    num_rounds: Rounds
    subgraph: SubgraphOptions
    supervision: str = "weak"


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleDescription(ScorerDescription):
    """The fields of ``reg-triple.json``."""

    kind: ClassVar[str] = "reg-triple"
    parts: ClassVar[tuple[str, ...]] = (PART,)


def _train(config: TripleConfig, inputs: Inputs[QuestionGraphs]) -> Training:
    from ..subgraphs import encoding_width
    from .network import Sets, TripleObjective, TripleScorer, scorer_training

    def objective(train: Sets, dev: Sets, device: torch.device) -> TripleObjective:
        network = TripleScorer(train[0].dimension, encoding_width(config.num_rounds), config.hidden).to(device)
        return TripleObjective(network, train, dev, config)

    return scorer_training(config, inputs, "triple scorer", PART, objective)


def _open(folder: Path, opening: CheckpointOpenOptions) -> TripleModel:
    from .network import TripleModel, read_triple_scorer

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
