"""ReG@Entity's training as the command line asks for it: its configuration, its errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...models.reg.entities.checkpoint import EntityDescription
from ...models.reg.entities.config import EntityConfig
from ...models.reg.entities.train_entities import train_entities
from ...models.reg.graphs import QuestionGraphs
from ...models.text_vectors import TextVectors
from ...models.training.trainer import Watcher
from ..code_hash import code_sha256
from .question_graphs import learning_from
from .running import changed, training_in


def entity_config(changes: Sequence[str], *, encoder: str | None, epochs: int | None, seed: int) -> EntityConfig:
    """Return the configuration with what the command line changes; raise `UsageError` for an unknown option."""
    return changed(EntityConfig(), changes, "train reg-entity", epochs=epochs, seed=seed, encoder=encoder)


def trained_entities(
    config: EntityConfig,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    vectors: TextVectors,
    folder: Path,
    *,
    fresh: bool,
    watcher: Watcher,
) -> EntityDescription:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises what `learning_from` and `training_in` raise.
    """
    with learning_from(train_on, choose_on), training_in(folder, EntityDescription, fresh=fresh) as is_first:
        return train_entities(
            config,
            train_on,
            choose_on,
            vectors.encoder.encode,
            folder,
            revision=code_sha256(),
            watcher=watcher if is_first else None,
        )
