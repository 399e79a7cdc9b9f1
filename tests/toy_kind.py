"""A kind of model that is not Lodestar's own, in one file: what someone else writes to add one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from lodestar.engine.parts import part
from lodestar.engine.retrieval.triples import SubgraphRetriever
from lodestar.models.kinds import (
    CheckpointOpenOptions,
    ModelDescription,
    ModelKind,
    TrainingOptions,
    check_checkpoint,
    load_network,
)
from lodestar.models.reg import FIGURES
from lodestar.models.reg.triples import GraphInputs, TripleObjective, TripleScores, encode_subgraph_sets, fit_scorer
from lodestar.models.subgraphs import QuestionGraphs, SubgraphOptions
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training import TrainingFolder
from pydantic.dataclasses import dataclass
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class ToyConfig:
    """encoder: of texts. num_rounds: of distance encoding. batch_size: questions a step."""

    encoder: str = "all-MiniLM-L6-v2"
    num_rounds: int = 1
    batch_size: int = 4
    subgraph: SubgraphOptions = field(default_factory=SubgraphOptions)
    training: TrainingOptions = field(default_factory=lambda: TrainingOptions(epochs=20, head_learning_rate=0.1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyDescription(ModelDescription):
    """What ``toy.json`` says."""

    kind: ClassVar[str] = "toy"
    parts: ClassVar[tuple[str, ...]] = ("weights",)

    config: ToyConfig
    dimension: int
    supervision: str


class ToyScorer(nn.Module):
    """logit = Σ weight · question · relation."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dimension))

    def forward(self, inputs: GraphInputs) -> Tensor:
        products: Tensor = inputs.questions[inputs.question_of] * inputs.relations[inputs.relation_of]
        return products @ self.weight


class ToyModel:
    """A checkpoint at work."""

    def __init__(self, description: ToyDescription, network: ToyScorer, vectors: TextVectors) -> None:
        self.description = description
        self._weight = network.weight.detach().numpy()
        self._vectors = vectors

    def score(self, graphs: QuestionGraphs) -> TripleScores:
        question_of = np.repeat(np.arange(len(graphs)), np.diff(graphs.triple_starts))
        questions = self._vectors.stack(graphs.texts.questions)[question_of]
        relations = self._vectors.stack(graphs.texts.relations, lasting=True)[graphs.relation_of]
        scores: npt.NDArray[np.float32] = ((questions * relations) @ self._weight).astype(np.float32)
        return scores, None, ()


def open_model(folder: Path, opening: CheckpointOpenOptions) -> ToyModel:
    description = check_checkpoint(folder, ToyDescription)
    network = ToyScorer(description.dimension)
    load_network(network, folder / "weights")
    return ToyModel(description, network, opening.vectors_of(description))


class ToyObjective(TripleObjective):
    """Judges all triples of a question."""

    def logits_and_labels(self, questions: Sequence[int]) -> tuple[Tensor, Tensor]:
        rows = self.train.rows(questions)
        return self.network(self.train.inputs(questions, rows)), self.train.labels(rows)


def fit(
    config: ToyConfig, train: Sequence[QuestionGraphs], dev: Sequence[QuestionGraphs], out: TrainingFolder
) -> ToyDescription:
    learned, chosen = encode_subgraph_sets(config, train, dev, out)
    network = ToyScorer(learned.dimension).to(out.device)
    objective = ToyObjective(network, learned, chosen, config)
    description: ToyDescription = fit_scorer("toy scorer", objective, config, train, out)
    return description


KIND = ModelKind(
    title="Toy scorer",
    learns_from="subgraphs",
    config=ToyConfig,
    description=ToyDescription,
    code=__name__,
    about="Scores triples by their relation.",
    figures=FIGURES,
)


@part("toy")
@plain_dataclass(frozen=True)
class Toy(SubgraphRetriever):
    """The triples around the topics, scored by their relations."""

    kinds: ClassVar[tuple[ModelKind, ...]] = (KIND,)
