"""`lodestar train gril`: a graph retriever of one's own, from questions with answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .subgraph_training import subgraph_training_options, supervised_graphs
from .training import print_trained, questions_of, watched


@click.command("gril")
@subgraph_training_options
@click.option("--reader", help="Model that learns to answer with it, by name or path, as all-MiniLM-L6-v2.")
@click.option(
    "--reads",
    type=click.Choice(["pointing", "choosing", "writing"]),
    help="What the reader does: an encoder points at answers (the default) or chooses among options; a causal language "
    "model writes them, with a LoRA.",
)
@click.option(
    "--open-domain", "is_open", is_flag=True, help="Without graph supervision: for answers that no graph has."
)
def gril(
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    supervision: Sequence[str],
    reader: str | None,
    reads: str | None,
    is_open: bool,
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
      lodestar train gril --dataset t.jsonl --dev d.jsonl --out g --reader all-MiniLM-L6-v2 --reads choosing
    """
    from ....models.encoder import SentenceEncoder
    from ....models.gril.train_retriever import SHOWN
    from ....models.text_vectors import TextVectors
    from ...training.gril import gril_config, trained_gril, wanted_of

    config = gril_config(
        changes, reader=reader, reads=reads, is_open=is_open, encoder=encoder, epochs=epochs, seed=seed
    )
    wanted = wanted_of(map(questions_of, (*train_files, *dev_files)), config) if config.joint.reader else {}
    vectors = TextVectors(SentenceEncoder(config.encoder))
    sets = supervised_graphs(
        train_files,
        dev_files,
        out,
        supervision,
        config.subgraph,
        vectors,
        flags,
        fresh=fresh,
        open_domain=config.joint.open_domain,
    )
    with watched(out, SHOWN) as watcher:
        description = trained_gril(config, *sets, vectors, out, wanted=wanted, fresh=fresh, watcher=watcher)
    print_trained(description, out, SHOWN, {}, as_json=as_json)
