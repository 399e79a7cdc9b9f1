"""GRIL: a retriever that grows and prunes a subgraph by attention, trained jointly with its reader; its options."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar, Literal

from pydantic.dataclasses import dataclass

from .. import Count, Dimension, Positive, Range, Share, Width
from ..kinds import LoraOptions, ModelDescription, ModelKind, TrainingOptions
from ..subgraphs import SubgraphOptions

Reads = Literal["pointing", "writing"]

RECALL_AT = (5, 10, 20, 100)
CHOOSE_AT = 20
RETRIEVER_FIGURES = (*(f"recall_at_{k}" for k in RECALL_AT), "average_precision")
"""Figures of a checkpoint: recall of right triples among a question's best k, and average precision over its right
triples.
"""
ACCURACY = "accuracy"
MAJORITY = "majority"
"""Accuracy of the hop predictor, and of always predicting the commonest number of hops among the training questions."""
HITS, F1 = "hits_at_1", "f1"
FIGURES = (*RETRIEVER_FIGURES, ACCURACY, MAJORITY, HITS, F1)
"""Figures of all phases."""


@dataclass(frozen=True, slots=True)
class GrowOptions:
    """How a subgraph grows and is pruned, layer by layer (GRIL, section 4.1, algorithm 1, table 4).

    sigma, budget: a question's edges below sigma are pruned unless they are among its `budget` best of them (see
    `network`); a sigma of 0 prunes nothing. temperature: τ of equation 5, which the paper does not state.
    """

    num_layers: Annotated[int, Range(1, 8)] = 3
    sigma: Share = 0.1
    budget: Count = 16
    temperature: Annotated[float, Range(0.01, 10)] = 0.5


@dataclass(frozen=True, slots=True)
class JointOptions:
    """How retriever and reader are trained jointly (section 4.3).

    reader: model name or path; empty: no reader and no joint training. reads: an encoder that points at answers, or a
    causal language model with a LoRA that writes them. token: whether the reader gets the graph token. Without it
    nothing of the reader, nor the prior, reaches the retriever: the paper's separate training. inner: hidden width of
    the projector, G-Retriever's. prior_weight: weight of −log P(G_s | q), ours. max_tokens: of the reader's input.
    """

    reader: str = ""
    reads: Reads = "pointing"
    token: bool = True
    inner: Dimension = 2_048
    prior_weight: Annotated[float, Range(0, 100)] = 0.1
    max_tokens: Annotated[int, Range(16, 8_192)] = 384
    lora: LoraOptions = field(default_factory=LoraOptions)

    def __post_init__(self) -> None:
        if self.reads == "writing" and not self.reader:
            raise ValueError("reads: expected a reader to train, found none: give --set joint.reader=NAME")


@dataclass(frozen=True, slots=True)
class GrilConfig:
    """encoder: text encoder, by name or path; it is not trained. hidden: width of entities and of the score (the
    paper's 512). max_hops: the largest number of hops predicted. batch_size: questions per step, ours; the paper's is
    2, at a learning rate of 1e-5.
    """

    encoder: str = "all-MiniLM-L6-v2"
    hidden: Width = 512
    max_hops: Annotated[int, Range(1, 16)] = 4
    batch_size: Positive = 8
    grow: GrowOptions = field(default_factory=GrowOptions)
    subgraph: SubgraphOptions = field(default_factory=SubgraphOptions)
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=30, learning_rate=1e-5, head_learning_rate=1e-3, weight_decay=0.05, patience=5
        )
    )

    joint: JointOptions = field(default_factory=JointOptions)
    joint_training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=10, learning_rate=5e-5, head_learning_rate=5e-4, weight_decay=0.05, patience=3
        )
    )
    hop_training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(epochs=30, head_learning_rate=1e-3, weight_decay=0.05, patience=5)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrilDescription(ModelDescription):
    """The fields of ``gril.json``. dimension: of the encoder's vectors. reader_width: of the reader's embeddings, None
    without a reader.
    """

    kind: ClassVar[str] = "gril"
    parts: ClassVar[tuple[str, ...]] = ("retriever", "hops", "bridge", "reader")

    config: GrilConfig
    dimension: Dimension
    reader_width: Dimension | None = None

    @property
    def networks(self) -> tuple[str, ...]:
        return self.parts if self.reader_width else self.parts[:2]


KIND = ModelKind(
    title="GRIL graph retriever",
    learns_from="subgraphs",
    config=GrilConfig,
    description=GrilDescription,
    code="lodestar.models.gril.training",
    about="Grows a subgraph from a question's topics by attention over neighbours and prunes it (GRIL). The figures "
    "are the share of right triples among the best k; of hops the accuracy beside that of the commonest number; of the "
    "reader Hits@1 and F1 over questions with an answer in their subgraph.",
    figures=FIGURES,
)
