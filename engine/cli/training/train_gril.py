"""`lodestar train gril`: a graph retriever of one's own, from questions with answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .subgraph_training import subgraph_training_options, supervised_graphs
from .training import print_trained, watched


@click.command("gril")
@subgraph_training_options
@click.option("--reader", help="Encoder that learns to answer with it, by name or path, as all-MiniLM-L6-v2.")
def gril(
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    supervision: Sequence[str],
    reader: str | None,
    encoder: str | None,
    epochs: int | None,
    seed: int,
    changes: Sequence[str],
    fresh: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train GRIL's retriever, which grows and prunes a subgraph by attention; with --reader what answers from it, too.

    Stopped, it goes on where it was when the same command runs again.

    \b
    Example:
      lodestar train gril --dataset train.jsonl.gz --dev dev.jsonl.gz --out gril
      lodestar train gril --dataset train.jsonl.gz --dev dev.jsonl.gz --out gril --reader all-MiniLM-L6-v2
    """
    from ....models.encoder import SentenceEncoder
    from ....models.gril.train_retriever import SHOWN
    from ....models.text_vectors import TextVectors
    from ...training.gril import gril_config, trained_gril

    config = gril_config(changes, reader=reader, encoder=encoder, epochs=epochs, seed=seed)
    vectors = TextVectors(SentenceEncoder(config.encoder))
    sets = supervised_graphs(train_files, dev_files, out, supervision, config.subgraph, vectors, flags, fresh=fresh)
    with watched(out, SHOWN) as watcher:
        description = trained_gril(config, *sets, vectors, out, fresh=fresh, watcher=watcher)
    print_trained(description, out, SHOWN, {}, as_json=as_json)
