"""GRIL's training, from subgraphs to a checkpoint: the retriever by graph supervision, hops, then all with a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..reg.graphs import QuestionGraphs
from ..training.calibration import fitted
from ..training.card import model_card
from ..training.checkpoint import Writer, write_weights
from ..training.loop import Trained
from ..training.trainer import Phase, Result, Trainer, Watcher, trained_in
from .bridge import Bridge
from .checkpoint import BRIDGE, HOPS, READER, RETRIEVER, GrilDescription
from .config import GrilConfig
from .hops import ACCURACY, MAJORITY, HopObjective, HopPredictor
from .inputs import Encode, EncodedQuestions
from .learning import NAMES, RetrieverObjective, scored_triples
from .network import GraphRetriever
from .reading.asked import Wanted
from .reading.description import ReaderDescription
from .reading.joint import JointNetwork
from .reading.kinds import new_reader, write_reader
from .reading.learning import F1, HITS, JointObjective

PHASE, HOP_PHASE, JOINT_PHASE = "graph retriever", "hops", "reader"
OF_PHASES = {"training", "hop_training", "joint", "joint_training"}
"""Options on which only some of the networks depend."""
HOP_BATCH = 32
SHOWN = (*NAMES, ACCURACY, MAJORITY, HITS, F1)
"""Figures of all phases."""
CALIBRATED = 100
"""The best triples of each dev question, over which scores are calibrated."""


def train_retriever(
    config: GrilConfig,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    encode: Encode,
    folder: Path,
    *,
    wanted: Mapping[str, Wanted] | None = None,
    revision: str = "",
    watcher: Watcher | None = None,
) -> GrilDescription:
    """Train, write the checkpoint to `folder`, and return its description.

    wanted: what is known of the questions beside their subgraphs, by id.

    See `trained_in`: it is taken up where it was stopped, and replaces no other training.
    """
    made: list[RetrieverObjective] = []
    predictors: list[HopPredictor] = []
    joint: list[JointObjective] = []
    sets: list[list[EncodedQuestions]] = []
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def encoded() -> list[list[EncodedQuestions]]:
        if not sets:
            sets.extend([EncodedQuestions(graphs, encode, device) for graphs in each] for each in (train_on, choose_on))
        return sets

    def objective() -> RetrieverObjective:
        train, dev = encoded()
        network = GraphRetriever(train[0].dimension, config.hidden, config.score, config.grow).to(device)
        made.append(RetrieverObjective(network, train, dev, config))
        return made[0]

    def hop_objective() -> HopObjective:
        train, dev = encoded()
        network = HopPredictor(train[0].dimension, config.hidden, config.max_hops).to(device)
        predictors.append(network)
        return HopObjective(network, train, dev, config.hop_training, HOP_BATCH)

    def joint_objective() -> JointObjective:
        train, dev = encoded()
        options = config.joint
        reader = new_reader(options, str(device))
        bridge = Bridge(config.hidden, options.inner, reader.width)
        network = JointNetwork(retriever(), bridge, reader, options, wanted).to(device)
        joint.append(JointObjective(network, predictors[0], train, dev, config))
        return joint[0]

    def retriever() -> GraphRetriever:
        if made:
            return made[0].network
        return GraphRetriever(sets[0][0].dimension, config.hidden, config.score, config.grow)

    options = config.as_json()
    asked: dict[str, Any] = {
        "config": options,
        "train": tuple(graphs.trained_on for graphs in train_on),
        "dev": tuple(graphs.trained_on for graphs in choose_on),
    }

    def result(trained: Mapping[str, Trained]) -> Result[GrilDescription]:
        network = joint[0].network.retriever if joint else made[0].network
        description = GrilDescription(
            **asked,
            encoder=config.encoder,
            dimension=network.of_entity.in_features,
            hidden=config.hidden,
            score=config.score,
            max_hops=config.max_hops,
            grow=config.grow,
            subgraph=config.subgraph,
            reader=_described_reader(joint[0], config) if joint else None,
            calibration=fitted(_best(network, sets[1])),
            figures={name: each.history[each.best_epoch] for name, each in trained.items()},
            seconds={name: each.seconds for name, each in trained.items()},
            revision=revision,
        )
        parts: dict[str, Writer] = {
            RETRIEVER: partial(write_weights, network.state_dict()),
            HOPS: partial(write_weights, predictors[0].state_dict()),
        }
        if joint:
            parts[BRIDGE] = partial(write_weights, joint[0].network.bridge.state_dict())
            parts[READER] = partial(write_reader, joint[0].network.reader)
        return Result(description, parts, _card(description, trained))

    depends_on = {key: value for key, value in options.items() if key not in OF_PHASES}
    data = {"train": [graphs.sha256 for graphs in train_on], "dev": [graphs.sha256 for graphs in choose_on]}
    phases = [Phase(HOP_PHASE, HOPS, config.hop_training, depends_on, hop_objective)]
    if config.joint.graph_supervision or not config.joint.reader:
        phases.insert(0, Phase(PHASE, RETRIEVER, config.training, depends_on, objective))
    if config.joint.reader:
        after = depends_on | {key: options[key] for key in ("training", "hop_training", "joint")}
        phases.append(Phase(JOINT_PHASE, READER, config.joint_training, after, joint_objective))
    return trained_in(folder, Trainer(GrilDescription, asked, data, phases, result), watcher or Watcher())


def _best(network: GraphRetriever, dev: Sequence[EncodedQuestions]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for scores, right in scored_triples(network, dev):
        best = np.argsort(-scores, kind="stable")[:CALIBRATED]
        found += zip(scores[best].tolist(), right[best].astype(float).tolist(), strict=True)
    return found


def _described_reader(objective: JointObjective, config: GrilConfig) -> ReaderDescription:
    options = config.joint
    return ReaderDescription(
        options.reader,
        objective.network.reader.width,
        options.inner,
        options.token,
        options.text,
        options.num_triples,
        options.max_tokens,
        objective.best_share(),
        options.reads,
        options.lora,
    )


def _card(description: GrilDescription, trained: Mapping[str, Trained]) -> str:
    about = (
        "Grows a subgraph from a question's topics by attention over neighbours and prunes it, after GRIL. Encoder: "
        f"`{description.encoder}`, not trained; supervision: entities on shortest paths to the answers.",
        "Use it with `lodestar ask --recipe gril --checkpoint FOLDER`, on the graph it was trained on. The figures "
        "below are the share of right triples among the best k of each dev question; of what predicts hops, its "
        "accuracy and that of the commonest number; of the reader, over questions with an answer in their subgraph, "
        "Hits@1 and F1.",
    )
    return model_card("GRIL graph retriever", about, description, trained, SHOWN, {})
