"""Options of the toy scorer, and the kind itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lodestar.models.reg_triple.config import FIGURES, SubgraphOptions
from lodestar.models.subgraphs import QuestionGraphs
from lodestar.models.training.kind import (
    SUBGRAPHS,
    CheckpointOpenOptions,
    Inputs,
    ModelDescription,
    ModelKind,
    Training,
    TrainingOptions,
)

if TYPE_CHECKING:
    from tests.toy_kind.network import ToyModel


@dataclass(frozen=True, slots=True)
class ToyConfig:
    """encoder: of texts. batch_size: questions a step."""

    encoder: str = "all-MiniLM-L6-v2"
    batch_size: int = 4
    subgraph: SubgraphOptions = field(default_factory=SubgraphOptions)
    open_domain: bool = False
    training: TrainingOptions = field(default_factory=lambda: TrainingOptions(epochs=20, head_learning_rate=0.1))

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyDescription(ModelDescription):
    """What ``toy.json`` says."""

    kind: ClassVar[str] = "toy"
    parts: ClassVar[tuple[str, ...]] = ("weights",)

    dimension: int
    subgraph: SubgraphOptions


def _train(config: ToyConfig, inputs: Inputs[QuestionGraphs]) -> Training:
    from tests.toy_kind.objective import toy_training

    return toy_training(config, inputs)


def _open(folder: Path, opening: CheckpointOpenOptions) -> ToyModel:
    from tests.toy_kind.network import read_toy

    return read_toy(folder, opening)


KIND: ModelKind[ToyConfig, ToyDescription, QuestionGraphs, ToyModel] = ModelKind(
    name="toy",
    title="Toy scorer",
    summary="Train a weight for each dimension of the encoder.",
    learns_from=SUBGRAPHS,
    config=ToyConfig,
    description=ToyDescription,
    train=_train,
    open=_open,
    about=lambda description: (f"Scores triples by their relation. Encoder: `{description.encoder}`.",),
    figures=FIGURES,
)
