"""Train GRIL: its retriever, hop predictor, bridge and reader, and read them from a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from ..language.causal_lm import CausalLMError
from ..subgraphs import QuestionGraphs, QuestionLabels
from ..text.vectors import encode_each_once
from ..training.checkpoint import Writer, check_checkpoint, read_weights, translate_read_errors, write_weights
from ..training.kind import (
    BadCheckpointError,
    CheckpointOpenOptions,
    Inputs,
    NothingToLearnError,
    Outcome,
    Phase,
    Training,
)
from ..training.trainer import TrainingResult, fit_calibration
from .kind import BRIDGE, HOPS, READER, RETRIEVER, GrilConfig, GrilDescription, GrilReaderDescription
from .network import Bridge, GraphRetriever, GrilModel, HopModel, HopPredictor
from .objective import EncodedSubgraphs, HopObjective, JointNetwork, JointObjective, RetrieverObjective, score_triples
from .readers import JointReader, ReaderModel, ReaderTarget, new_reader, open_reader, write_reader

NetworkT = TypeVar("NetworkT", bound=torch.nn.Module)
PHASE, HOP_PHASE, JOINT_PHASE = "graph retriever", "hops", "reader"
OF_PHASES = {"training", "hop_training", "joint", "joint_training"}
"""Options that only some of the networks depend on."""
HOP_BATCH = 32
CALIBRATED = 100
"""The number of best triples per dev question that calibration uses."""


def gril_training(config: GrilConfig, inputs: Inputs[QuestionGraphs]) -> Training:
    """Return the training: the retriever by graph supervision, the hop predictor, and, with a reader, all jointly.

    `inputs.beside`: the `QuestionLabels` of all questions, which the reader is trained on.
    """
    retrievers: list[RetrieverObjective] = []
    predictors: list[HopPredictor] = []
    joint: list[JointObjective] = []
    device = torch.device(inputs.device)
    encode = encode_each_once(inputs.vectors_of(config.encoder).encoder.encode)
    wanted = reader_targets(inputs.beside, config) if config.joint.reader else {}

    @cache
    def encoded() -> list[list[EncodedSubgraphs]]:
        return [[EncodedSubgraphs(graphs, encode, device) for graphs in sets] for sets in (inputs.train, inputs.dev)]

    def new_retriever() -> GraphRetriever:
        return GraphRetriever(encoded()[0][0].dimension, config.hidden, config.score, config.grow)

    def objective() -> RetrieverObjective:
        train, dev = encoded()
        retrievers.append(RetrieverObjective(new_retriever().to(device), train, dev, config))
        return retrievers[0]

    def hop_objective() -> HopObjective:
        train, dev = encoded()
        network = HopPredictor(train[0].dimension, config.hidden, config.max_hops).to(device)
        predictors.append(network)
        return HopObjective(network, train, dev, config.hop_training, HOP_BATCH)

    def joint_objective() -> JointObjective:
        train, dev = encoded()
        options = config.joint
        reader = new_reader(options, inputs.device)
        bridge = Bridge(config.hidden, options.inner, reader.width)
        retriever = retrievers[0].network if retrievers else new_retriever()
        network = JointNetwork(retriever, bridge, reader, options, wanted).to(device)
        joint.append(JointObjective(network, predictors[0], train, dev, config))
        return joint[0]

    def outcome(_trained: Mapping[str, TrainingResult]) -> Outcome:
        network = joint[0].network.retriever if joint else retrievers[0].network
        fields = {
            "encoder": config.encoder,
            "dimension": network.of_entity.in_features,
            "hidden": config.hidden,
            "score": config.score,
            "max_hops": config.max_hops,
            "grow": config.grow,
            "subgraph": config.subgraph,
            "reader": _describe_reader(joint[0], config) if joint else None,
        }
        parts: dict[str, Writer] = {
            RETRIEVER: partial(write_weights, network.state_dict()),
            HOPS: partial(write_weights, predictors[0].state_dict()),
        }
        if joint:
            parts[BRIDGE] = partial(write_weights, joint[0].network.bridge.state_dict())
            parts[READER] = partial(write_reader, joint[0].network.reader)
        return Outcome(parts, fit_calibration(_best(network, encoded()[1])), fields)

    options = config.as_json()
    depends_on = {key: value for key, value in options.items() if key not in OF_PHASES}
    phases = [Phase(HOP_PHASE, HOPS, config.hop_training, depends_on, hop_objective)]
    if config.joint.graph_supervision:
        phases.insert(0, Phase(PHASE, RETRIEVER, config.training, depends_on, objective))
    if config.joint.reader:
        after = depends_on | {key: options[key] for key in ("training", "hop_training", "joint")}
        phases.append(Phase(JOINT_PHASE, READER, config.joint_training, after, joint_objective))
    return Training(phases, outcome)


def reader_targets(labels: Iterable[QuestionLabels], config: GrilConfig) -> dict[str, ReaderTarget]:
    """Return the reader's targets by question id.

    Raises `NothingToLearnError` for a multiple-choice question whose right answer is none of its options.
    """
    found: dict[str, ReaderTarget] = {}
    for question in labels:
        names = tuple(dict.fromkeys(question.answers))
        if question.options and config.joint.reads == "writing":
            right = [place for place, option in enumerate(question.options) if option in names]
            if len(right) != 1:
                raise NothingToLearnError(
                    f"{question.set_name}, question {question.id}: expected one right answer among the "
                    f"{len(question.options)} options, found {len(right)}"
                )
            found[question.id] = ReaderTarget(names, question.options, right[0])
        elif config.joint.open_domain or question.all_named:
            found[question.id] = ReaderTarget(names)
    return found


def _best(network: GraphRetriever, dev: Sequence[EncodedSubgraphs]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for scores, right in score_triples(network, dev):
        best = np.argsort(-scores, kind="stable")[: min(CALIBRATED, int(np.isfinite(scores).sum()))]
        found += zip(scores[best].tolist(), right[best].astype(float).tolist(), strict=True)
    return found


def _describe_reader(objective: JointObjective, config: GrilConfig) -> GrilReaderDescription:
    options = config.joint
    return GrilReaderDescription(
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


class GrilCheckpoint:
    """An open checkpoint: retriever, hop predictor and reader, each read at first use.

    Each raises `BadCheckpointError` for a damaged file; `reader` also for a checkpoint without one.
    """

    def __init__(self, folder: Path, opening: CheckpointOpenOptions) -> None:
        self._folder = folder
        self._opening = opening
        self.description = check_checkpoint(folder, GrilDescription, _parts)

    @cached_property
    def retriever(self) -> GrilModel:
        """The retriever."""
        description, network = read_graph_retriever(self._folder, self._opening.device)
        has_token = description.reader is not None and description.reader.token
        bridge = read_bridge(self._folder, self._opening.device) if has_token else None
        return GrilModel(description, network, self._opening.vectors_of(description), bridge)

    @cached_property
    def hops(self) -> HopModel:
        """The hop predictor."""
        description, network = read_hop_predictor(self._folder, self._opening.device)
        return HopModel(network, self._opening.vectors_of(description))

    @cached_property
    def reader(self) -> ReaderModel:
        """The reader."""
        return ReaderModel(*read_reader(self._folder, self._opening.device))


def read_graph_retriever(folder: Path, device: str = "cpu") -> tuple[GrilDescription, GraphRetriever]:
    """Return a checkpoint's retriever after checking its hashes; raise `BadCheckpointError` for a damaged one."""
    description = check_checkpoint(folder, GrilDescription, _parts)
    network = GraphRetriever(description.dimension, description.hidden, description.score, description.grow)
    return description, _read_weights(network, folder, RETRIEVER, device)


def read_hop_predictor(folder: Path, device: str = "cpu") -> tuple[GrilDescription, HopPredictor]:
    """Return a checkpoint's hop predictor; raise `BadCheckpointError` if it is damaged."""
    description = check_checkpoint(folder, GrilDescription, _parts)
    network = HopPredictor(description.dimension, description.hidden, description.max_hops)
    return description, _read_weights(network, folder, HOPS, device)


def read_bridge(folder: Path, device: str = "cpu") -> Bridge:
    """Return a checkpoint's bridge; raise `BadCheckpointError` if it has no reader or is damaged."""
    description, reader = _with_reader(folder)
    return _read_weights(Bridge(description.hidden, reader.inner, reader.width), folder, BRIDGE, device)


def _read_weights(network: NetworkT, folder: Path, part: str, device: str) -> NetworkT:
    with translate_read_errors(folder):
        network.load_state_dict(read_weights(folder / part))
    return network.eval().to(torch.device(device))


def read_reader(folder: Path, device: str = "cpu") -> tuple[GrilDescription, JointReader]:
    """Return a checkpoint's reader; raise `BadCheckpointError` if there is none, it is damaged, or its language
    model is unavailable.
    """
    description, reader_description = _with_reader(folder)
    try:
        with translate_read_errors(folder):
            reader = open_reader(reader_description, folder / READER, device)
    except CausalLMError as error:
        raise BadCheckpointError(f"{folder}: {error}") from error
    return description, reader.to(torch.device(device))


def _with_reader(folder: Path) -> tuple[GrilDescription, GrilReaderDescription]:
    description = check_checkpoint(folder, GrilDescription, _parts)
    if description.reader is None:
        raise BadCheckpointError(
            f"{folder}: expected a checkpoint with a reader, found only a retriever: train one with `lodestar train "
            "gril --reader all-MiniLM-L6-v2`"
        )
    return description, description.reader


def _parts(description: GrilDescription) -> tuple[str, ...]:
    return GrilDescription.parts if description.reader else (RETRIEVER, HOPS)
