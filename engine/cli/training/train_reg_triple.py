"""`lodestar train reg-triple`: a scorer of triples of one's own, from questions with answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..options import database_options, json_option, settings_from
from .training import print_trained, questions_of, watched


@click.command("reg-triple")
@click.option("--dataset", "train_files", multiple=True, required=True, help="Question set to learn from; repeatable.")
@click.option("--dev", "dev_files", multiple=True, required=True, help="Question set to choose by; repeatable.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the checkpoint."
)
@click.option("--encoder", help="Sentence encoder of the texts, by name or path (default: all-MiniLM-L6-v2).")
@click.option("--epochs", type=click.IntRange(1), help="Epochs at most.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is left to chance.")
@click.option("--set", "changes", multiple=True, help="KEY=VALUE of the configuration, as subgraph.num_hops=3.")
@click.option("--fresh", is_flag=True, help="Begin anew, whatever was under way in the folder.")
@json_option
@database_options
def reg_triple(
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
    """Train ReG's scorer of triples on the subgraphs of questions.

    Stopped, it goes on where it was when the same command runs again.

    \b
    Example:
      lodestar train reg-triple --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg
    """
    from ....models.encoder import SentenceEncoder
    from ....models.reg.graphs import QuestionGraphs
    from ....models.reg.learning import NAMES
    from ....models.text_vectors import TextVectors
    from ....models.training.processes import is_first_process
    from ...progress.phases import progress_bar
    from ...training.reg_triple import graph_set, trained_triples, triple_config

    config = triple_config(changes, encoder=encoder, epochs=epochs, seed=seed)
    settings = settings_from(**flags)
    vectors = TextVectors(SentenceEncoder(config.encoder))

    def graphs_of(file: str) -> QuestionGraphs:
        questions = questions_of(file)
        return graph_set(
            questions,
            out,
            config,
            vectors,
            settings,
            fresh=fresh,
            reading=lambda: progress_bar(questions.name, "reading"),
            say=lambda line: click.echo(line, err=True) if is_first_process() else None,
        )

    train_on, choose_on = ([graphs_of(file) for file in files] for files in (train_files, dev_files))
    with watched(out, NAMES) as watcher:
        description = trained_triples(config, train_on, choose_on, vectors, out, fresh=fresh, watcher=watcher)
    print_trained(description, out, NAMES, {}, as_json=as_json)
