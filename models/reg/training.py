"""Train a scorer of subgraphs: ReG@Triple's or ReG@Entity's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from ..training.calibration import fitted
from ..training.checkpoint import write_weights
from ..training.kind import Inputs, Outcome, Phase, Training
from ..training.loop import Trained
from .config import ScorerConfig
from .graphs import QuestionGraphs, supervision_of
from .inputs import EncodedGraphs
from .judging import calibration_pairs
from .learning import SubgraphObjective

Sets = Sequence[EncodedGraphs]
NewObjective = Callable[[Sets, Sets, torch.device], SubgraphObjective]


def scorer_training(
    config: ScorerConfig,
    inputs: Inputs[QuestionGraphs],
    phase: str,
    part: str,
    new_objective: NewObjective,
    own_fields: Callable[[SubgraphObjective], Mapping[str, Any]] = lambda _: {},
) -> Training:
    """Return the training of one network over subgraphs.

    phase, part: its name and the folder of its files. new_objective: of what is learned from and selected on.
    own_fields: fields of the description beside the common ones.
    """
    objectives: list[SubgraphObjective] = []
    device = torch.device(inputs.device)
    encode = inputs.vectors_of(config.encoder).encoder.encode

    def objective() -> SubgraphObjective:
        train, dev = (
            [EncodedGraphs(graphs, encode, config.num_rounds, device) for graphs in sets]
            for sets in (inputs.train, inputs.dev)
        )
        objectives.append(new_objective(train, dev, device))
        return objectives[0]

    def outcome(_trained: Mapping[str, Trained]) -> Outcome:
        (learned,) = objectives
        fields = {
            **own_fields(learned),
            "encoder": config.encoder,
            "dimension": learned.train[0].dimension,
            "hidden": config.hidden,
            "num_rounds": config.num_rounds,
            "subgraph": config.subgraph,
        }
        parts = {part: partial(write_weights, learned.network.state_dict())}
        return Outcome(parts, fitted(calibration_pairs(learned.ranked())), fields)

    depends_on = {key: value for key, value in config.as_json().items() if key != "training"}
    return Training(
        [Phase(phase, part, config.training, depends_on, objective)],
        outcome,
        identity={"supervision": supervision_of(inputs.train)},
    )
