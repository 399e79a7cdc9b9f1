"""ReG@Triple's training as the command line asks for it: its configuration, its subgraphs, its errors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from ...models.encoder import EncoderUnavailableError
from ...models.reg.checkpoint import TripleDescription
from ...models.reg.config import TripleConfig
from ...models.reg.graphs import GraphFileError, QuestionGraphs, read_graphs
from ...models.reg.learning import NothingToLearnError
from ...models.reg.train_triples import train_triples
from ...models.text_vectors import TextVectors
from ...models.training.trainer import Watcher
from ..api import Engine
from ..code_hash import code_sha256
from ..errors import EncoderError, InputError, UsageError
from ..progress.phases import Progress
from ..questions.gold import QuestionSet
from ..resolving import change, filled
from ..settings import Settings
from ..supervision.subgraphs import write_question_graphs
from .of_graph import Made, Say, made_of_graph
from .relation_pairs import plain_words
from .running import Asked, check_asked_apart, training_in


def triple_config(changes: Sequence[str], *, encoder: str | None, epochs: int | None, seed: int) -> TripleConfig:
    """Return the configuration with what the command line changes; raise `UsageError` for an unknown option."""
    data = json.loads(json.dumps(TripleConfig().as_json()))
    data["training"]["seed"] = seed
    if epochs is not None:
        data["training"]["epochs"] = epochs
    if encoder:
        data["encoder"] = encoder
    for said in changes:
        change(data, said, "training.epochs=5")
    return filled(TripleConfig, data, "train reg-triple")


def graph_set(
    questions: QuestionSet,
    folder: Path,
    config: TripleConfig,
    vectors: TextVectors,
    settings: Settings,
    *,
    fresh: bool,
    reading: Callable[[], AbstractContextManager[tuple[Progress, Say]]],
    say: Say,
) -> QuestionGraphs:
    """Return the subgraphs of a question set, read from the graph now or when the training in this folder began.

    See `made_of_graph`.
    """
    how = json.dumps([config.encoder, asdict(config.subgraph)], sort_keys=True)
    name = f"subgraphs-{questions.name}-{questions.sha256[:8]}-{hashlib.sha256(how.encode()).hexdigest()[:8]}"

    def make(engine: Engine, wanted: Path) -> None:
        with reading() as (progress, _):
            write_question_graphs(questions, engine, vectors, wanted, config.subgraph, progress=progress)

    made = Made(name, ".safetensors", f"another process reads the subgraphs of {questions.name}", "read", "read")
    try:
        return read_graphs(made_of_graph(folder, made, settings, make, fresh=fresh, say=say))
    except GraphFileError as error:
        raise InputError(str(error)) from error
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error


def trained_triples(
    config: TripleConfig,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    vectors: TextVectors,
    folder: Path,
    *,
    fresh: bool,
    watcher: Watcher,
) -> TripleDescription:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises `UsageError` for sets that have questions in common and for questions that teach nothing, and what
    `training_in` raises.
    """
    learned = [asked for graphs in train_on for _, asked in _asked(graphs)]
    check_asked_apart(learned, [each for graphs in choose_on for each in _asked(graphs)])
    with training_in(folder, TripleDescription, fresh=fresh) as is_first:
        try:
            return train_triples(
                config,
                train_on,
                choose_on,
                vectors.encoder.encode,
                folder,
                revision=code_sha256(),
                watcher=watcher if is_first else None,
            )
        except NothingToLearnError as error:
            raise UsageError(str(error)) from error


def _asked(graphs: QuestionGraphs) -> list[tuple[str, Asked]]:
    return [
        (id_, (plain_words(text), frozenset()))
        for id_, text in zip(graphs.texts.ids, graphs.texts.questions, strict=True)
    ]
