"""`lodestar train reg-path`: a decoder of relation paths of one's own, from questions with answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import settings_from
from .subgraph_training import subgraph_training_options
from .training import print_trained, questions_of, watched

if TYPE_CHECKING:
    from ....models.mined.pool import Pool


@click.command("reg-path")
@subgraph_training_options
def reg_path(
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
    """Train ReG's writer of relation paths on the candidate pools of questions.

    Stopped, it goes on where it was when the same command runs again.

    \b
    Example:
      lodestar train reg-path --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg-path
    """
    from ....models.encoder import SentenceEncoder
    from ....models.reg.paths.learning import NAMES
    from ....models.text_vectors import TextVectors
    from ....models.training.processes import is_first_process
    from ...progress.phases import progress_bar
    from ...training.reg_path import graph_vocabulary, path_config, pool_set, refined_sets, trained_paths

    config = path_config(changes, encoder=encoder, epochs=epochs, seed=seed)
    settings = settings_from(**flags)

    def mined(file: str) -> Pool:
        questions = questions_of(file)
        return pool_set(
            questions,
            out,
            settings,
            fresh=fresh,
            mining=lambda: progress_bar(questions.name, "mining"),
            say=lambda line: click.echo(line, err=True) if is_first_process() else None,
        )

    pools = refined_sets([mined(file) for file in (*train_files, *dev_files)], supervision)
    train_on, choose_on = pools[: len(train_files)], pools[len(train_files) :]
    vectors = TextVectors(SentenceEncoder(config.encoder))
    with watched(out, NAMES) as watcher:
        description = trained_paths(
            config, train_on, choose_on, graph_vocabulary(settings), vectors, out, fresh=fresh, watcher=watcher
        )
    print_trained(description, out, NAMES, {"supervision": description.supervision}, as_json=as_json)
