"""`lodestar train reg-triple` and `reg-entity`: scorers of subgraphs of one's own, from questions with answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .subgraph_training import subgraph_training_options, supervised_graphs
from .training import print_trained, watched

if TYPE_CHECKING:
    from ....models.reg.training import Scorer


@click.command("reg-triple")
@subgraph_training_options
def reg_triple(**options: Any) -> None:
    """Train ReG's scorer of triples on the subgraphs of questions.

    Stopped, it goes on where it was when the same command runs again.

    \b
    Example:
      lodestar train reg-triple --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg
      lodestar train reg-triple --dataset train.jsonl.gz --dev dev.jsonl.gz --supervision refined.jsonl.gz --out reg
    """
    from ....models.reg.scorer import TRIPLES

    _train(TRIPLES, **options)


@click.command("reg-entity")
@subgraph_training_options
def reg_entity(**options: Any) -> None:
    """Train ReG's scorer of entities on the subgraphs of questions.

    Stopped, it goes on where it was when the same command runs again.

    \b
    Example:
      lodestar train reg-entity --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg
      lodestar train reg-entity --dataset train.jsonl.gz --dev dev.jsonl.gz --supervision refined.jsonl.gz --out reg
    """
    from ....models.reg.entities.scorer import ENTITIES

    _train(ENTITIES, **options)


def _train(
    scorer: Scorer[Any, Any],
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    supervision: Sequence[str],
    encoder: str | None,
    epochs: int | None,
    seed: int,
    changes: Sequence[str],
    fresh: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    from ....models.encoder import SentenceEncoder
    from ....models.reg.judging import NAMES
    from ....models.text_vectors import TextVectors
    from ...training.reg_scorers import scorer_config, trained_scorer

    config = scorer_config(scorer, changes, encoder=encoder, epochs=epochs, seed=seed)
    vectors = TextVectors(SentenceEncoder(config.encoder))
    sets = supervised_graphs(train_files, dev_files, out, supervision, config.subgraph, vectors, flags, fresh=fresh)
    with watched(out, NAMES) as watcher:
        description = trained_scorer(scorer, config, *sets, vectors, out, fresh=fresh, watcher=watcher)
    print_trained(description, out, NAMES, {"supervision": description.supervision}, as_json=as_json)
