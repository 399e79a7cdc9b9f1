"""GRIL's training as the command line asks for it: its configuration and its errors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...models.gril.checkpoint import GrilDescription
from ...models.gril.config import GrilConfig
from ...models.gril.reading.asked import Wanted
from ...models.gril.train_retriever import train_retriever
from ...models.reg.graphs import QuestionGraphs
from ...models.text_vectors import TextVectors
from ...models.training.trainer import Watcher
from ..code_hash import code_sha256
from ..errors import UsageError
from ..questions.gold import QuestionSet
from ..resolving import change, filled
from .question_graphs import learning_from
from .running import training_in

OPEN_TRIPLES = 20
"""Given to a reader where nothing says how many hops a question takes."""


def gril_config(
    changes: Sequence[str],
    *,
    encoder: str | None,
    epochs: int | None,
    seed: int,
    reader: str | None = None,
    reads: str | None = None,
    is_open: bool = False,
) -> GrilConfig:
    """Return the configuration with what the command line changes; raise `UsageError` for an unknown option.

    is_open: without graph supervision, for questions whose answers no graph has.
    """
    data = json.loads(json.dumps(GrilConfig().as_json()))
    for phase in ("training", "hop_training", "joint_training"):
        data[phase]["seed"] = seed
        if epochs is not None and phase != "hop_training":
            data[phase]["epochs"] = epochs
    if (reads or is_open) and not reader:
        raise UsageError("--reads, --open-domain: expected a reader that learns, found none: name one with --reader")
    if reader:
        data["joint"]["reader"] = reader
    if reads:
        data["joint"]["reads"] = reads
    if is_open:
        data["joint"] |= {"graph_supervision": False, "num_triples": OPEN_TRIPLES}
    if encoder:
        data["encoder"] = encoder
    for said in changes:
        change(data, said, "training.epochs=5")
    return filled(GrilConfig, data, "train gril")


def wanted_of(sets: Iterable[QuestionSet], config: GrilConfig) -> dict[str, Wanted]:
    """Return what a reader is taught of questions, by id; raise `UsageError` for a choice without options, or whose
    right answer is none of them."""
    found: dict[str, Wanted] = {}
    for questions in sets:
        for question in questions.questions:
            names = dict.fromkeys(answer.names[0] if answer.names else answer.id or "" for answer in question.answers)
            if config.joint.reads != "choosing":
                if config.joint.open_domain or all(answer.names for answer in question.answers):
                    found[question.id] = Wanted(tuple(names))
                continue
            right = [place for place, option in enumerate(question.options) if option in names]
            if len(right) != 1:
                raise UsageError(
                    f"{questions.name}, question {question.id}: expected options with the right answer among them, "
                    f"found {len(question.options)} options and {len(right)} of them right: train with --reads pointing"
                )
            found[question.id] = Wanted(tuple(names), question.options, right[0])
    return found


def trained_gril(
    config: GrilConfig,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    vectors: TextVectors,
    folder: Path,
    *,
    wanted: Mapping[str, Wanted] | None = None,
    fresh: bool,
    watcher: Watcher,
) -> GrilDescription:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises what `learning_from` and `training_in` raise.
    """
    with learning_from(train_on, choose_on), training_in(folder, GrilDescription, fresh=fresh) as is_first:
        return train_retriever(
            config,
            train_on,
            choose_on,
            vectors.encoder.encode,
            folder,
            wanted=wanted,
            revision=code_sha256(),
            watcher=watcher if is_first else None,
        )
