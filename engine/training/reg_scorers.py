"""ReG@Triple's and ReG@Entity's training as the command line asks for it: their errors, one training in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...models.reg.graphs import QuestionGraphs
from ...models.reg.training import ConfigT, Scorer, ScorerDescriptionT, train_scorer
from ...models.text_vectors import TextVectors
from ...models.training.trainer import Watcher
from ..code_hash import code_sha256
from .question_graphs import learning_from
from .running import changed, training_in


def scorer_config(
    scorer: Scorer[ConfigT, ScorerDescriptionT],
    changes: Sequence[str],
    *,
    encoder: str | None,
    epochs: int | None,
    seed: int,
) -> ConfigT:
    """Return the configuration with what the command line changes; raise `UsageError` for an unknown option."""
    verb = f"train {scorer.description.kind}"
    return changed(scorer.defaults, changes, verb, epochs=epochs, seed=seed, encoder=encoder)


def trained_scorer(
    scorer: Scorer[ConfigT, ScorerDescriptionT],
    config: ConfigT,
    train_on: Sequence[QuestionGraphs],
    choose_on: Sequence[QuestionGraphs],
    vectors: TextVectors,
    folder: Path,
    *,
    fresh: bool,
    watcher: Watcher,
) -> ScorerDescriptionT:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises what `learning_from` and `training_in` raise.
    """
    with learning_from(train_on, choose_on), training_in(folder, scorer.description, fresh=fresh) as is_first:
        return train_scorer(
            scorer,
            config,
            train_on,
            choose_on,
            vectors.encoder.encode,
            folder,
            revision=code_sha256(),
            watcher=watcher if is_first else None,
        )
