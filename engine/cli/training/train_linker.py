"""`lodestar train linker`: a linker of one's own, from questions with topics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..options import database_options, json_option, settings_from
from .training import print_trained, questions_of, watched


@click.command()
@click.option("--dataset", "train_files", multiple=True, required=True, help="Question set to learn from; repeatable.")
@click.option("--dev", "dev_files", multiple=True, required=True, help="Question set to choose by; repeatable.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the checkpoint."
)
@click.option("--encoder", help="Sentence encoder of relations, by name or path (default: all-MiniLM-L6-v2).")
@click.option("--epochs", type=click.IntRange(1), help="Epochs at most.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is left to chance.")
@click.option("--set", "changes", multiple=True, help="KEY=VALUE of the configuration, as hidden=16.")
@click.option("--fresh", is_flag=True, help="Begin anew, whatever was under way in the folder.")
@json_option
@database_options
def linker(
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    encoder: str | None,
    epochs: int | None,
    seed: int,
    changes: Sequence[str],
    fresh: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train how likely a question is about what its words may mean, from questions with topics.

    The graph is the one that the questions are about. Stopped, it goes on where it was when the same command runs
    again.

    \b
    Example:
      lodestar train linker --dataset questions-train.jsonl.gz --dev questions-dev.jsonl.gz --out linker
      lodestar ask --set linker.kind=trained --set linker.checkpoint=linker "Where was Lincoln born?"
    """
    from ....models.linking.learning import NAMES
    from ...api import Engine
    from ...progress.phases import progress_bar
    from ...training.linker import linked_candidates, linker_config, trained_linker

    config = linker_config(changes, encoder=encoder, epochs=epochs, seed=seed)
    read = [[questions_of(file) for file in files] for files in (train_files, dev_files)]
    with Engine(settings_from(**flags)) as engine, progress_bar("the questions", "linking") as (progress, _):
        train_on, choose_on = (
            [linked_candidates(each, engine, config, progress=progress) for each in some] for some in read
        )
    with watched(out, NAMES) as watcher:
        description = trained_linker(config, train_on, choose_on, out, fresh=fresh, watcher=watcher)
    print_trained(description, out, NAMES, {}, as_json=as_json)
