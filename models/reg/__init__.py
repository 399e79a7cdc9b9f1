"""ReG: scorers of triples and entities of subgraphs, and a writer of relation paths; their options and checkpoints."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from .. import Count, Dimension, Positive, Range, Width
from ..kinds import LoraOptions, ModelDescription, ModelKind, TrainingOptions
from ..subgraphs import SubgraphOptions

RECALL_AT = (10, 50, 100, 500)
ANSWERS = tuple(f"answer_recall_at_{k}" for k in RECALL_AT)
FIGURES = (*(f"recall_at_{k}" for k in RECALL_AT), "average_precision", *ANSWERS)
"""Recall of a question's right triples among its best k, average precision over its right triples, and recall of the
right answers in its subgraph among the ends of the best k.
"""
PATH_FIGURES = ("log_likelihood", "first_right")
"""The mean log-likelihood of a right path, and the share of dev questions whose likeliest candidate (of the chains that
leave its topics) is right.
"""


@dataclass(frozen=True, slots=True)
class TripleConfig:
    """encoder: text encoder, by name or path; it is not trained. hidden: units of the network. num_rounds: of distance
    encoding in each direction (SubgraphRAG's 2). batch_size: questions per step. num_negatives: wrong triples, or
    entities, per question and step, sampled anew each epoch.
    """

    encoder: str = "all-MiniLM-L6-v2+relations"
    hidden: Width = 384
    num_rounds: Annotated[int, Range(0, 8)] = 3
    batch_size: Positive = 8
    num_negatives: Positive = 500
    subgraph: SubgraphOptions = field(default_factory=SubgraphOptions)
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=30, learning_rate=1e-3, head_learning_rate=1e-3, weight_decay=0.0, patience=10
        )
    )


@dataclass(frozen=True, slots=True)
class EntityConfig(TripleConfig):
    """num_layers: rounds of message passing between all entities of a subgraph."""

    hidden: Width = 64
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=20, learning_rate=1e-3, head_learning_rate=2e-3, weight_decay=0.0, patience=3
        )
    )
    num_layers: Annotated[int, Range(1, 8)] = 2


@dataclass(frozen=True, slots=True)
class PathConfig:
    """model: a causal LM of Hugging Face, by name or folder. batch_size: paths per step. num_candidates: chains scored
    per dev question, including its right ones.

    Eight epochs are the paper's (appendix E). The paper does not give the rate; this one is usual for LoRA.
    """

    model: Annotated[str, Field(min_length=1)]
    lora: LoraOptions = field(default_factory=LoraOptions)
    batch_size: Positive = 8
    num_candidates: Positive = 20
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=8, learning_rate=2e-4, head_learning_rate=2e-4, weight_decay=0.0, patience=3
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleDescription(ModelDescription):
    """The fields of ``reg-triple.json``.

    dimension: of the encoder's vectors. supervision: what chose the right triples; `weak`: those on shortest paths to
    the answers.
    """

    kind: ClassVar[str] = "reg-triple"
    parts: ClassVar[tuple[str, ...]] = ("mlp",)

    config: TripleConfig
    dimension: Dimension
    supervision: str = "weak"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDescription(TripleDescription):
    """The fields of ``reg-entity.json``.

    degrees: the degree histogram of the training graphs, which scales messages: how many nodes are in 0, 1, 2 …
    triples.
    """

    kind: ClassVar[str] = "reg-entity"
    parts: ClassVar[tuple[str, ...]] = ("gnn",)

    config: EntityConfig
    degrees: Annotated[tuple[Count, ...], Field(min_length=2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathDescription(ModelDescription):
    """The fields of ``reg-path.json``. model_fingerprint: of the language model's weights. supervision: what chose the
    right paths.
    """

    kind: ClassVar[str] = "reg-path"
    parts: ClassVar[tuple[str, ...]] = ("adapter",)

    config: PathConfig
    model_fingerprint: str
    supervision: str = "weak"


TRIPLE = ModelKind(
    title="ReG triple scorer",
    learns_from="subgraphs",
    config=TripleConfig,
    description=TripleDescription,
    code="lodestar.models.reg.triples",
    about="Scores the triples of a question's subgraph: an MLP over text embeddings and directional distance encodings "
    "(ReG@Triple). The figures are the share of right triples, and of right answers, among the best k.",
    figures=FIGURES,
)
ENTITY = ModelKind(
    title="ReG entity scorer",
    learns_from="subgraphs",
    config=EntityConfig,
    description=EntityDescription,
    code="lodestar.models.reg.entities",
    about="Scores the entities of a question's subgraph: principal neighbourhood aggregation over text embeddings and "
    "directional distance encodings (ReG@Entity); a triple's score is the mean of its two entities'.",
    figures=FIGURES,
)
PATH = ModelKind(
    title="ReG path writer",
    learns_from="pools",
    config=PathConfig,
    description=PathDescription,
    code="lodestar.models.reg.paths",
    about="Writes relation paths that lead from a question's topic to its answers: a LoRA on a language model that is "
    "not in this folder (ReG@Path). The figures are of the chains of dev questions.",
    figures=PATH_FIGURES,
)
