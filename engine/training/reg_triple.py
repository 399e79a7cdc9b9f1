"""ReG@Triple's training as the command line asks for it: its configuration, its errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...models.reg.checkpoint import TripleDescription
from ...models.reg.config import TripleConfig
from ...models.reg.graphs import QuestionGraphs
from ...models.reg.train_triples import train_triples
from ...models.text_vectors import TextVectors
from ...models.training.trainer import Watcher
from ..code_hash import code_sha256
from .question_graphs import learning_from
from .running import changed, training_in


def triple_config(changes: Sequence[str], *, encoder: str | None, epochs: int | None, seed: int) -> TripleConfig:
    """Return the configuration with what the command line changes; raise `UsageError` for an unknown option."""
    return changed(TripleConfig(), changes, "train reg-triple", epochs=epochs, seed=seed, encoder=encoder)


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

    Raises what `learning_from` and `training_in` raise.
    """
    with learning_from(train_on, choose_on), training_in(folder, TripleDescription, fresh=fresh) as is_first:
        return train_triples(
            config,
            train_on,
            choose_on,
            vectors.encoder.encode,
            folder,
            revision=code_sha256(),
            watcher=watcher if is_first else None,
        )
