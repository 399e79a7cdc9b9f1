"""Options of a training of ReG's scorers of subgraphs with their ranges, and what its checkpoint says."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ..training.description import ModelDescription
from ..training.objective import TrainingOptions, check_ranges


@dataclass(frozen=True, slots=True)
class SubgraphOptions:
    """How a question's subgraph is read: hops from the topics, relations that are walked in a step (the nearest to the
    question), triples at most."""

    num_hops: int = 2
    num_relations: int = 20
    max_triples: int = 4_000

    def __post_init__(self) -> None:
        check_ranges(self, num_hops=(1, 4), num_relations=(1, math.inf), max_triples=(1, 1_000_000))


@dataclass(frozen=True, slots=True)
class ScorerConfig:
    """encoder: of texts, by name or path; it stays as it is. hidden: units of the network. num_rounds: of distance
    encoding in each direction (SubgraphRAG's 2). batch_size: questions of a step. num_negatives: wrong triples, or
    entities, of a question in a step, drawn anew each epoch.
    """

    encoder: str = "all-MiniLM-L6-v2"
    hidden: int = 384
    num_rounds: int = 2
    batch_size: int = 8
    num_negatives: int = 500
    subgraph: SubgraphOptions = field(default_factory=SubgraphOptions)
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=30, learning_rate=1e-3, head_learning_rate=1e-3, weight_decay=0.0, patience=10
        )
    )

    def __post_init__(self) -> None:
        check_ranges(
            self,
            hidden=(1, 8_192),
            num_rounds=(0, 8),
            batch_size=(1, math.inf),
            num_negatives=(1, math.inf),
        )

    @property
    def open_domain(self) -> bool:
        """Whether subgraphs are read of questions, too, whose answers the graph does not have: they are not."""
        return False

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)


class TripleConfig(ScorerConfig):
    """Of ReG@Triple."""

    __slots__ = ()


PART = "mlp"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerDescription(ModelDescription):
    """What the checkpoint of a scorer of subgraphs says.

    dimension: of the encoder's vectors. supervision: what decided which triples are right; `weak`: they are on shortest
    paths to the answers.
    """

    dimension: Annotated[int, Field(ge=1, le=65_536)]
    hidden: Annotated[int, Field(ge=1, le=8_192)]
    num_rounds: Annotated[int, Field(ge=0, le=8)]
    subgraph: SubgraphOptions
    supervision: str = "weak"


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleDescription(ScorerDescription):
    """What ``reg-triple.json`` says."""

    kind: ClassVar[str] = "reg-triple"
    parts: ClassVar[tuple[str, ...]] = (PART,)
