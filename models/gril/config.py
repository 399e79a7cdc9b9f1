"""Options of a training of GRIL, with defaults and ranges, and what its checkpoint says of itself."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..reg_triple.config import SubgraphOptions
from ..training.description import ModelDescription
from ..training.objective import LoraOptions, TrainingOptions, check_ranges

Pruning = Literal["threshold", "top-k", "none"]
Score = Literal["mlp", "linear"]
Combine = Literal["product", "max"]
Reads = Literal["pointing", "choosing", "writing"]

RECALL_AT = (5, 10, 20, 100)
CHOOSE_AT = 20
RETRIEVER_FIGURES = (*(f"recall_at_{k}" for k in RECALL_AT), "average_precision")
"""Figures of a checkpoint: the share of a question's right triples that are among its best k, and the mean over its
right triples of the share of right ones among those up to it."""
ACCURACY = "accuracy"
MAJORITY = "majority"
"""Accuracy of the predictor, and of the commonest number of hops among the questions learned from."""
HITS, F1 = "hits_at_1", "f1"
FIGURES = (*RETRIEVER_FIGURES, ACCURACY, MAJORITY, HITS, F1)
"""Of all phases."""


@dataclass(frozen=True, slots=True)
class GrowOptions:
    """How a subgraph grows and is pruned, layer by layer (GRIL, section 4.1, algorithm 1, table 4).

    pruning: by the threshold `sigma` what a question has under it beyond the `budget` best (the paper's, as read in
    `network`), the `top_k` best edges of each source, or none. entity_update: equation 4 after each layer. combine,
    ours: an edge's probability is the product of attention along the way to it, or its own attention. temperature: τ of
    equation 5, which the paper does not state.
    """

    num_layers: int = 3
    pruning: Pruning = "threshold"
    sigma: float = 0.1
    budget: int = 16
    top_k: int = 10
    entity_update: bool = True
    combine: Combine = "product"
    temperature: float = 0.5

    def __post_init__(self) -> None:
        check_ranges(
            self,
            num_layers=(1, 8),
            sigma=(0.0, 1.0),
            budget=(0, math.inf),
            top_k=(1, math.inf),
            temperature=(0.01, 10.0),
        )


@dataclass(frozen=True, slots=True)
class JointOptions:
    """How retriever and reader learn together (section 4.3).

    reader: a model, by name or path; empty for none, and no joint training. reads: whether it is an encoder that points
    at answers, one that chooses among options, or a causal language model that writes, with a LoRA. token, text:
    whether the reader is given the graph token and the verbalised triples (table 9). Without the token nothing of the
    reader reaches the retriever: the paper's separate training. graph_supervision: off in the open domain. num_triples:
    given to the reader; 0 for five for each hop that is predicted. inner: of the projector, G-Retriever's.
    prior_weight: of −log P(G_s | q), ours. max_tokens: of what is read. checkpointing: compute twice what would not fit
    into memory.
    """

    reader: str = ""
    reads: Reads = "pointing"
    token: bool = True
    text: bool = True
    graph_supervision: bool = True
    num_triples: int = 0
    inner: int = 2_048
    prior_weight: float = 0.1
    max_tokens: int = 384
    checkpointing: bool = False
    lora: LoraOptions = field(default_factory=LoraOptions)

    def __post_init__(self) -> None:
        check_ranges(
            self,
            num_triples=(0, 1_000),
            inner=(1, 65_536),
            prior_weight=(0.0, 100.0),
            max_tokens=(16, 8_192),
        )
        if not self.reader and (self.reads != "pointing" or not self.graph_supervision):
            raise ValueError(
                "--reads, --open-domain: expected a reader that learns, found none: name one with --reader"
            )

    @property
    def open_domain(self) -> bool:
        """Whether questions teach and judge whose answers are in no graph: a reader that points has nothing there."""
        return self.reads != "pointing" and not self.graph_supervision


@dataclass(frozen=True, slots=True)
class GrilConfig:
    """encoder: of texts, by name or path; it stays as it is. hidden: of entities and of the score (the paper's 512).
    max_hops: the most that are told from a question. score: `linear` is equation 3 to the letter, which no question can
    change (see `network`). batch_size: questions of a step, ours; the paper's is 2, at a learning rate of 1e-5.
    """

    encoder: str = "all-MiniLM-L6-v2"
    hidden: int = 512
    score: Score = "mlp"
    max_hops: int = 4
    batch_size: int = 8
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

    def __post_init__(self) -> None:
        check_ranges(self, hidden=(1, 8_192), max_hops=(1, 16), batch_size=(1, math.inf))

    @property
    def open_domain(self) -> bool:
        """Whether subgraphs are read of questions, too, whose answers the graph does not have."""
        return self.joint.open_domain

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ReaderDescription:
    """A reader. name: of its model before it was trained. width: of its embeddings. inner: of the bridge. token,
    text: what it is given. num_triples: given to it, 0 for five for each hop that is predicted. share: of the best
    candidate's probability, what another needs to be an answer as well. reads: what it does. lora: of one that
    writes."""

    name: str
    width: Annotated[int, Field(ge=1, le=65_536)]
    inner: Annotated[int, Field(ge=1, le=65_536)]
    token: bool
    text: bool
    num_triples: Annotated[int, Field(ge=0, le=1_000)]
    max_tokens: Annotated[int, Field(ge=16, le=8_192)]
    share: Annotated[float, Field(ge=0.0, le=1.0)]
    reads: Reads = "pointing"
    lora: LoraOptions = field(default_factory=LoraOptions)


RETRIEVER, HOPS, BRIDGE, READER = "retriever", "hops", "bridge", "reader"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrilDescription(ModelDescription):
    """What ``gril.json`` says. dimension: of the encoder's vectors."""

    kind: ClassVar[str] = "gril"
    parts: ClassVar[tuple[str, ...]] = (RETRIEVER, HOPS, BRIDGE, READER)

    dimension: Annotated[int, Field(ge=1, le=65_536)]
    hidden: Annotated[int, Field(ge=1, le=8_192)]
    score: Score
    max_hops: Annotated[int, Field(ge=1, le=16)]
    grow: GrowOptions
    subgraph: SubgraphOptions
    reader: ReaderDescription | None = None
