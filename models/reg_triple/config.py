"""Configure the training of ReG's subgraph scorers, and describe their checkpoints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar

from ..ranges import Dimension, Hops, NumPhrases, Positive, Range, Ranged, Width
from ..training.kind import ModelDescription, TrainingOptions

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

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data; without phrases as earlier versions wrote it."""
        values = asdict(self)
        if not self.phrases:
            del values["phrases"]
        return values


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

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return {**asdict(self), "subgraph": self.subgraph.as_json()}


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
