"""What the toy network learns: which triples of a subgraph are right, by cross-entropy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch
from lodestar.models.reg_triple.network import EncodedGraphs, TripleInputs
from lodestar.models.reg_triple.training import SubgraphObjective, calibration_pairs
from lodestar.models.subgraphs import QuestionGraphs
from lodestar.models.training.checkpoint import write_weights
from lodestar.models.training.kind import Inputs, Outcome, Phase, Training
from lodestar.models.training.trainer import TrainingResult, fit_calibration
from torch import Tensor, nn

from tests.toy_kind.config import ToyConfig
from tests.toy_kind.network import ToyScorer


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
