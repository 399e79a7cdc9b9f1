"""A kind of model that is not Lodestar's own, in one file: what someone else writes to add one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from lodestar.engine.parts import part
from lodestar.engine.retrieval.triples import SubgraphRetriever
from lodestar.models.reg_triple.kind import FIGURES, SubgraphOptions
from lodestar.models.reg_triple.network import (
    EncodedGraphs,
    SubgraphObjective,
    TripleColumns,
    TripleInputs,
    calibration_pairs,
)
from lodestar.models.subgraphs import QuestionGraphs
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training.checkpoint import check_checkpoint, read_weights, write_weights
from lodestar.models.training.kind import (
    SUBGRAPHS,
    AnyKind,
    CheckpointOpenOptions,
    Inputs,
    ModelDescription,
    ModelKind,
    Outcome,
    Phase,
    Training,
    TrainingOptions,
)
from lodestar.models.training.trainer import TrainingResult, fit_calibration
from torch import Tensor, nn


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


class ToyScorer(nn.Module):
    """logit = Σ weight · question · relation."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dimension))

    def forward(self, inputs: TripleInputs) -> Tensor:
        products: Tensor = inputs.questions[inputs.question_of] * inputs.relations[inputs.relation_of]
        return products @ self.weight


class ToyModel:
    """A checkpoint at work."""

    def __init__(self, description: ToyDescription, network: ToyScorer, vectors: TextVectors) -> None:
        self.description = description
        self._weight = network.weight.detach().numpy()
        self._vectors = vectors

    def score(self, columns: TripleColumns) -> npt.NDArray[np.float32]:
        questions = self._vectors.stack(columns.questions)[columns.question_of]
        relations = self._vectors.stack(columns.relations, lasting=True)[columns.relation_of]
        scores: npt.NDArray[np.float32] = ((questions * relations) @ self._weight).astype(np.float32)
        return scores


def read_toy(folder: Path, opening: CheckpointOpenOptions) -> ToyModel:
    description = check_checkpoint(folder, ToyDescription, lambda _: ToyDescription.parts)
    network = ToyScorer(description.dimension)
    network.load_state_dict(read_weights(folder / "weights"))
    return ToyModel(description, network, opening.vectors_of(description))


class ToyObjective(SubgraphObjective):
    """Judges all triples of a question."""

    def logits_and_labels(
        self, network: nn.Module, encoded: EncodedGraphs, place: int, questions: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        spans = [encoded.graphs.triples_of(question) for question in questions]
        rows = [np.arange(span.start, span.stop) for span in spans]
        return network(encoded.inputs(questions, rows)), encoded.labels(rows)

    def triple_scores(self, inputs: TripleInputs) -> Tensor:
        logits: Tensor = self.network(inputs)
        return logits


def toy_training(config: ToyConfig, inputs: Inputs[QuestionGraphs]) -> Training:
    objectives: list[ToyObjective] = []

    def objective() -> ToyObjective:
        encode, device = inputs.vectors_of(config.encoder).encoder.encode, torch.device(inputs.device)
        train, dev = ([EncodedGraphs(each, encode, 1, device) for each in sets] for sets in (inputs.train, inputs.dev))
        network = ToyScorer(train[0].dimension).to(device)
        objectives.append(ToyObjective(network, train, dev, config.training, config.batch_size))
        return objectives[0]

    def outcome(_: Mapping[str, TrainingResult]) -> Outcome:
        (learned,) = objectives
        fields = {
            "encoder": config.encoder,
            "dimension": learned.train[0].dimension,
            "subgraph": config.subgraph,
        }
        parts = {"weights": partial(write_weights, learned.network.state_dict())}
        return Outcome(parts, fit_calibration(calibration_pairs(learned.iterate_scores())), fields)

    return Training([Phase("toy scorer", "weights", config.training, {}, objective)], outcome)


KIND: ModelKind[ToyConfig, ToyDescription, QuestionGraphs, ToyModel] = ModelKind(
    name="toy",
    title="Toy scorer",
    summary="Train a weight for each dimension of the encoder.",
    learns_from=SUBGRAPHS,
    config=ToyConfig,
    description=ToyDescription,
    train=toy_training,
    open=read_toy,
    about=lambda description: (f"Scores triples by their relation. Encoder: `{description.encoder}`.",),
    figures=FIGURES,
)


@part("toy")
@dataclass(frozen=True)
class Toy(SubgraphRetriever):
    """The triples around the topics, scored by their relations."""

    kinds: ClassVar[tuple[AnyKind, ...]] = (KIND,)
